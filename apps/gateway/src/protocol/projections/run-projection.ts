import {
  type ClientInterrupt,
  isRecord,
  type NumberedEvent,
  omitUndefined,
  type RunEvent,
  type RunEventOf,
  type RunRecord,
} from '@caribou/contracts';
import type { ProjectionContext } from '../../runs/streams/projections/frame.js';
import { initialState, reduce } from '../../runs/streams/projections/projection-state.js';
import { stableId } from '../../runs/streams/projections/stable-id.js';
import { tasks } from '../../runs/streams/projections/tasks.js';
import { askerNamespace, json, type ProjectedEvent, ROOT, type SequencedEvent } from '../projected-event.js';
import { isShared, LAST_INDEX, SHARED_INDEX, toSeq } from '../sequence.js';
import { runEnded, runStarted } from './lifecycle.js';
import { type MessageOrigin, MessageStreams, wholeMessage } from './messages.js';
import { Subagents } from './subagents.js';
import { tools } from './tools.js';

const FRAMES_OF_TASKS = new Set(['tasks'] as const);

/**
 * Turns the internal events of one run into those of the protocol. Each internal event gives the same events under the same
 * numbers whatever a client subscribes to; clients that join later read the log from its first event.
 */
export class RunProjection {
  private readonly context: ProjectionContext;
  private readonly dropped: Set<string>;
  private readonly messages = new MessageStreams();
  private readonly subagents: Subagents;
  private readonly requestedIds = new Set<string>();
  private attempt = 0;
  private error: string | undefined;

  constructor(
    private readonly run: RunRecord,
    private readonly ordinal: number,
  ) {
    this.dropped = new Set(run.dropped_message_ids);
    this.subagents = new Subagents({ runId: run.run_id, threadId: run.thread_id });
    this.context = {
      run: {
        runId: run.run_id,
        threadId: run.thread_id,
        graphId: run.assistant_id,
        assistantId: stableId(run.assistant_id),
        input: null,
      },
      state: initialState(run),
    };
  }

  /** The events for internal ones, in order. */
  project(events: readonly NumberedEvent[]): SequencedEvent[] {
    for (const { event } of events)
      if (event.kind === 'run.start') for (const id of event.dropped_message_ids) this.dropped.add(id);
    return events.flatMap((numbered) => this.projectOne(numbered));
  }

  /** The end of a run whose log has none any more. */
  endFromRecord(run: RunRecord | null): SequencedEvent {
    const ended = runEnded({
      status: run?.status ?? 'error',
      error: run === null ? 'the run is no longer there' : run.error?.message,
      hasNext: false,
      graphName: this.run.assistant_id,
      checkpointId: null,
    });
    return this.number(ended, run?.last_seq ?? this.run.last_seq, LAST_INDEX);
  }

  /** The newest state in place of events that are gone, under the last number of these. */
  snapshot(checkpointId: string, before: number): SequencedEvent {
    return this.number({ ...valuesAt(checkpointId), isSnapshot: true }, before, SHARED_INDEX - 1);
  }

  /** Prepares for the rest of a log whose beginning is gone. */
  skip(): void {
    this.messages.reset();
  }

  private projectOne({ seq, event }: NumberedEvent): SequencedEvent[] {
    if ((event.kind === 'message.delta' || event.kind === 'model.start') && this.dropped.has(event.message_id))
      return [];
    const shown = this.eventsOf(event);
    reduce(this.context.state, event, FRAMES_OF_TASKS);
    return shown.map((one, index) =>
      this.number(one, seq, one.isLast === true ? LAST_INDEX : Math.min(index, SHARED_INDEX), index),
    );
  }

  private number(event: ProjectedEvent, seqInRun: number, index: number, position = index): SequencedEvent {
    const seq = toSeq({ ordinal: this.ordinal, event: seqInRun, index });
    const tag = event.tag ?? (isShared(seq) ? `${seqInRun}.${position}` : undefined);
    const plain = tag === undefined ? String(seq) : `${seq}:${tag}`;
    const eventId = event.isOfRun === true ? `synth:${this.run.run_id}:${seq}` : plain;
    return { ...event, seq, eventId, timestamp: Date.parse(this.context.state.timestamp) };
  }

  private eventsOf(event: RunEvent): ProjectedEvent[] {
    switch (event.kind) {
      case 'run.start':
        return this.start(event);
      case 'checkpoint':
        this.context.state.timestamp = event.created_at;
        return [checkpoint(event), valuesAt(event.checkpoint_id), ...this.requested(event.interrupts ?? [])];
      case 'task.start':
        return this.taskFrames(event);
      case 'task.end':
        return [...this.taskFrames(event), ...this.update(event)];
      case 'message.delta':
        return this.messages.takeDelta(event, this.origin(event.node));
      case 'message':
        return event.message.type === 'ai' ? this.messages.takeAnswer(event.message, this.origin(event.node)) : [];
      case 'error':
        this.error = event.message;
        return [];
      case 'end':
        return [this.end(event)];
      default:
        return this.toolEvents(event);
    }
  }

  private toolEvents(event: RunEvent): ProjectedEvent[] {
    if (event.kind === 'tool.start') this.subagents.noteCall(event.tool_call_id, event.args);
    if (event.kind !== 'custom') return tools(event);
    return [custom(event.data), ...tools(event), ...this.subagents.take(event.data)];
  }

  private start(event: RunEventOf<'run.start'>): ProjectedEvent[] {
    const isNew = event.attempt !== this.attempt;
    const isFirst = this.attempt === 0;
    this.attempt = event.attempt;
    return [
      ...(isNew ? [runStarted(this.run.assistant_id)] : []),
      ...(isFirst ? this.answered() : []),
      ...this.messages.discard(event.dropped_message_ids, this.origin('model_request')),
    ];
  }

  /** What the run answers. */
  private answered(): ProjectedEvent[] {
    const ids = Object.keys(this.run.kwargs.command?.answers ?? {});
    return ids.length === 0 ? [] : [inputEvent('input.answered', ROOT, { interrupt_ids: ids })];
  }

  /** What waits for an answer, each once. */
  private requested(interrupts: readonly ClientInterrupt[]): ProjectedEvent[] {
    const added = interrupts.filter(({ id }) => !this.requestedIds.has(id));
    for (const { id } of added) this.requestedIds.add(id);
    return added.map(({ id, value, response_schema, namespace = ROOT }) =>
      inputEvent('input.requested', askerNamespace(namespace), {
        interrupt_id: id,
        payload: value,
        ...omitUndefined({ response_schema }),
      }),
    );
  }

  private end({ status }: RunEventOf<'end'>): ProjectedEvent {
    const { next, checkpointId } = this.context.state;
    const { error, run } = this;
    return runEnded({ status, error, hasNext: next.length > 0, graphName: run.assistant_id, checkpointId });
  }

  private taskFrames(event: RunEvent): ProjectedEvent[] {
    return tasks(event, this.context).map((frame) => ({
      channel: 'tasks',
      method: 'tasks',
      namespace: ROOT,
      payload: frame,
    }));
  }

  /** Channel `updates`, and the messages of people and of the system that the node added. */
  private update({ node, update, error }: RunEventOf<'task.end'>): ProjectedEvent[] {
    if (error !== null) return [];
    const added = (update?.messages ?? []).flatMap((message) =>
      message.type === 'human' || message.type === 'system' ? wholeMessage(message, this.origin(node, '')) : [],
    );
    const shown = json({ node, values: update ?? {} });
    return [{ channel: 'updates', method: 'updates', namespace: ROOT, node, payload: shown }, ...added];
  }

  private origin(node: string, model = this.context.state.model): MessageOrigin {
    const { runId, threadId } = this.context.run;
    return { runId, threadId, node, model };
  }
}

const inputEvent = (
  method: 'input.requested' | 'input.answered',
  namespace: readonly string[],
  data: object,
): ProjectedEvent => ({ channel: 'input', method, namespace, payload: json(data) });

const valuesAt = (checkpointId: string): ProjectedEvent => ({
  channel: 'values',
  method: 'values',
  namespace: ROOT,
  payload: { checkpointId, before: '', after: '' },
  tag: checkpointId,
});

function checkpoint({ checkpoint_id: id, parent_id, metadata }: RunEventOf<'checkpoint'>): ProjectedEvent {
  const { step, source } = metadata;
  const data = { id, ...(parent_id === null ? {} : { parent_id }), step, source };
  return { channel: 'checkpoints', method: 'checkpoints', namespace: ROOT, payload: json(data), tag: id };
}

/** Channel `custom`; the data's `type` is the name under which clients may subscribe to it alone. */
function custom(data: unknown): ProjectedEvent {
  const type = isRecord(data) ? data['type'] : undefined;
  const name = typeof type === 'string' && type !== '' ? type : undefined;
  return {
    channel: name === undefined ? 'custom' : `custom:${name}`,
    method: 'custom',
    namespace: ROOT,
    payload: json({ ...(name === undefined ? {} : { name }), payload: data ?? null }),
  };
}

import { isTerminal, type NumberedEvent, type RunRecord, type StreamMode } from '@caribou/contracts';
import type { ThreadStore } from '@caribou/state';
import { stableId } from './projections/stable-id.js';
import type { FrameKind, ProjectionContext, StateFrame } from './projections/frame.js';
import { frameId, isAfter, type Position, START, WHOLE } from './projections/position.js';
import { kindsFor, type PositionedFrame, project } from './projections/project.js';
import { initialState, reduce } from './projections/projection-state.js';
import { type Followed, type FollowPorts, retryWhileUnavailable, RunFollower } from '@caribou/runs';
import type { SseWriter } from './sse-writer.js';
import type { ValuesCache } from './values-cache.js';

/**
 * One client's event stream of one run.
 *
 * S1 Frames are sent in order and once each, beginning after the position in the client's request. The writer sends
 *    heartbeats from the first byte to the last.
 * S2 Every frame is a function of the event log: a client that resumes, at this gateway or another, gets exactly the
 *    rest.
 * S3 Deltas of messages that were discarded by a takeover are omitted if that is known before they are sent; otherwise
 *    the `metadata` of the new attempt lists these messages.
 * S4 A slow reader gets the log at its own pace; no more than one write is buffered for it.
 * S5 `end` is written once, as the last frame, and only for a run that is over; otherwise the connection is broken off.
 * S6 From a trimmed log, a new stream gets `metadata`, the newest `values` and the rest of the log, and a stream that
 *    resumes in the trimmed part gets a `gap`. The same holds for a log that has expired or has lost its newest events.
 */
export interface RunStreamRequest {
  readonly run: RunRecord;
  readonly modes: readonly StreamMode[];
  readonly from: Position;
  readonly checkMs: number;
  /** Whether this request has started the run, so that it probably has no events yet. */
  readonly isNew?: boolean;
  /** The client joined the run after this event: it gets the newest values and then the log from here, instead of all. */
  readonly joinedAfter?: number;
}

export interface RunStreamPorts extends FollowPorts {
  readonly store: Pick<ThreadStore, 'getRun' | 'head'>;
  readonly values: Pick<ValuesCache, 'text'>;
  /** Called when a client requests events that no longer exist. */
  onGap?(): void;
}

/** Where the frames of a run are written: the response of a client, or a part of it. */
export type FrameWriter = Pick<SseWriter, 'signal' | 'pauseWhenSlow' | 'write' | 'flush' | 'end'>;

/** Kinds whose frames depend on earlier events: a stream that resumes reads the log from the start for them. */
const statefulKinds: readonly FrameKind[] = ['messages-tuple', 'messages-partial', 'tasks', 'debug', 'events'];

/**
 * Writes the stream to its end.
 *
 * @throws {ResponseGone} when the client disconnected or stalled, or the gateway stops
 */
export async function streamRun(ports: RunStreamPorts, request: RunStreamRequest, writer: FrameWriter): Promise<void> {
  const kinds = kindsFor(request.modes);
  const { from } = request;
  const needsState = statefulKinds.some((kind) => kinds.has(kind));
  const after = needsState ? 0 : from.index === WHOLE ? from.seq : from.seq - 1;
  const follower = await RunFollower.open(ports, {
    run: request.run,
    after,
    logged: from.logged ?? from.seq,
    checkMs: request.checkMs,
    isLogEmpty: request.isNew === true && isUnstarted(request.run) && after === 0,
    mayBeOver: isTerminal(request.run.status),
    signal: writer.signal,
  });
  try {
    writer.pauseWhenSlow(follower);
    await new RunStream(ports, request, { kinds, follower, writer }).run();
  } finally {
    follower.close();
  }
}

const isUnstarted = ({ status, last_seq: lastSeq }: RunRecord): boolean => status === 'pending' && lastSeq === 0;

type Trim = Extract<Followed, { readonly kind: 'trimmed' }>;

interface StreamDependencies {
  readonly kinds: ReadonlySet<FrameKind>;
  readonly follower: RunFollower;
  readonly writer: FrameWriter;
}

class RunStream {
  private readonly context: ProjectionContext;
  private readonly dropped: Set<string>;
  private sent: Position;
  /** Up to which number the log has events, as far as is known. */
  private logged = 0;
  private readonly writer: FrameWriter;

  constructor(
    private readonly ports: RunStreamPorts,
    private readonly request: RunStreamRequest,
    private readonly stream: StreamDependencies,
  ) {
    const { run } = request;
    this.sent = request.from;
    this.writer = stream.writer;
    this.dropped = new Set(run.dropped_message_ids);
    this.context = {
      run: {
        runId: run.run_id,
        threadId: run.thread_id,
        graphId: run.assistant_id,
        assistantId: stableId(run.assistant_id),
        input: run.kwargs.input,
      },
      state: initialState(run),
    };
  }

  async run(): Promise<void> {
    const { run, from } = this.request;
    // The client has an event that was in the log and is beyond its end: the log has lost its newest events.
    if (run.last_seq > 0 && (from.logged ?? from.seq) > run.last_seq)
      return await this.writeGap({ firstKept: 1, lastSeq: run.last_seq });
    await this.beginWhereJoined();
    for (;;) {
      const item = await this.stream.follower.next();
      switch (item.kind) {
        case 'events':
          this.logged = item.logged;
          if (await this.writeEvents(item.events)) {
            await this.writer.end();
            return;
          }
          break;
        case 'trimmed':
          if (await this.handleTruncatedLog(item)) return;
          break;
        case 'rewound':
          await this.writeGap(item);
          return;
        case 'over':
          await this.endWithoutLog(item.run);
          return;
      }
    }
  }

  private async beginWhereJoined(): Promise<void> {
    const { joinedAfter = 0 } = this.request;
    if (joinedAfter > 0) await this.catchUp(joinedAfter + 1);
  }

  /** Writes the frames of these events; returns true after the run's `end`, which is sent when the response ends. */
  private async writeEvents(events: readonly NumberedEvent[]): Promise<boolean> {
    for (const { event } of events) {
      if (event.kind === 'run.start') for (const id of event.dropped_message_ids) this.dropped.add(id);
    }
    let ended = false;
    for (const numbered of events) {
      const { event } = numbered;
      ended = event.kind === 'end';
      if (this.sent === START && event.kind !== 'run.start') await this.writeMetadata(`${numbered.seq}.0`);
      if ((event.kind === 'message.delta' || event.kind === 'model.start') && this.dropped.has(event.message_id))
        continue;
      const sent = this.sendAll(project(numbered, this.stream.kinds, this.context));
      if (sent !== undefined) await sent;
      reduce(this.context.state, event, this.stream.kinds);
    }
    if (!ended) await this.writer.flush();
    return ended;
  }

  /** Writes the frames of one event. Returns a promise only when there is something to wait for, with the frames after that. */
  private sendAll(frames: readonly PositionedFrame[]): Promise<void> | undefined {
    for (const [index, frame] of frames.entries()) {
      const sent = this.send(frame);
      if (sent !== undefined) return sent.then(() => this.sendAll(frames.slice(index + 1)));
    }
    return undefined;
  }

  /** Writes `metadata` when the log does not begin with the start of a run, which ended in the queue or long ago. */
  private async writeMetadata(id: string): Promise<void> {
    const { run_id, thread_id, attempt } = this.request.run;
    this.sent = { seq: 0, index: 0 };
    await this.writer.write('metadata', JSON.stringify({ run_id, thread_id, attempt }), id);
  }

  /** Writes a frame that the client lacks. Returns a promise only when there is something to wait for. */
  private send({ position, frame }: PositionedFrame): Promise<void> | undefined {
    if (!isAfter(position, this.request.from)) return undefined;
    return 'data' in frame ? this.writeAt(position, frame.event, frame.data) : this.sendState(position, frame);
  }

  private writeAt(position: Position, event: string, data: string | readonly string[]): Promise<void> | undefined {
    this.sent = position;
    return this.writer.write(event, data, frameId({ seq: position.seq, index: position.index, logged: this.logged }));
  }

  /** Writes a frame with the text of a state, which is not copied; none when the state no longer exists. */
  private async sendState(position: Position, { event, checkpointId, before, after }: StateFrame): Promise<void> {
    const { run, checkMs } = this.request;
    const thread = { userId: run.user_id, threadId: run.thread_id };
    const load = (): Promise<string | null> => this.ports.values.text(thread, checkpointId);
    const text = await retryWhileUnavailable(load, { checkMs, signal: this.writer.signal });
    if (text !== null) await this.writeAt(position, event, [before, text, after]);
  }

  /** Number of the first event of which the client may lack frames. */
  private get firstNeededSeq(): number {
    return this.sent.index === WHOLE ? this.sent.seq + 1 : this.sent.seq;
  }

  /** Continues after a trimmed part of the log; returns true when a gap had to be written, which ends the stream. */
  private async handleTruncatedLog(trim: Trim): Promise<boolean> {
    if (this.firstNeededSeq >= trim.firstKept) this.stream.follower.skipTo(trim.firstKept);
    else if (this.sent.seq === 0) await this.catchUp(trim.firstKept);
    else {
      await this.writeGap(trim);
      return true;
    }
    return false;
  }

  /** Replaces the trimmed start of the log by the run's `metadata` and the newest values, and skips to the rest. */
  private async catchUp(firstKept: number): Promise<void> {
    const { run, checkMs } = this.request;
    const { run_id, thread_id, attempt, dropped_message_ids } = run;
    await this.writer.write(
      'metadata',
      JSON.stringify({ run_id, thread_id, attempt, dropped_message_ids }),
      `${firstKept - 1}.1`,
    );
    if (this.stream.kinds.has('values')) {
      const key = { userId: run.user_id, threadId: thread_id };
      const options = { checkMs, signal: this.writer.signal };
      const head = await retryWhileUnavailable(() => this.ports.store.head(key), options);
      const text =
        head === null
          ? null
          : await retryWhileUnavailable(() => this.ports.values.text(key, head.checkpointId), options);
      if (text !== null) await this.writer.write('values', text, String(firstKept - 1));
    }
    await this.writer.flush();
    this.sent = { seq: firstKept - 1, index: WHOLE };
    this.stream.follower.skipTo(firstKept);
  }

  /**
   * Writes a gap with the range of events that still exist, and ends the stream. The client then reloads the thread's
   * state and follows the run after `latest_available_event_id`.
   */
  private async writeGap({ firstKept, lastSeq }: Omit<Trim, 'kind'>): Promise<void> {
    const gap = {
      code: 'stream_replay_gap',
      run_id: this.request.run.run_id,
      requested_event_id: frameId(this.sent),
      earliest_available_event_id: String(firstKept),
      latest_available_event_id: String(lastSeq),
      recovery: 'reload_durable_state',
    };
    this.ports.onGap?.();
    await this.writer.write('gap', JSON.stringify(gap), null);
    await this.writer.end();
  }

  /** Ends the stream of a run whose log has expired. A client that resumes and lacks more than the `end` gets a gap. */
  private async endWithoutLog(run: RunRecord | null): Promise<void> {
    if (this.sent.seq > 0 && run !== null && this.firstNeededSeq < run.last_seq) {
      await this.writeGap({ firstKept: run.last_seq, lastSeq: run.last_seq });
      return;
    }
    // Ids continue those that the client has, and never exceed the last number of the log.
    const last = Math.max(this.sent.seq, run?.last_seq ?? 0);
    if (this.sent === START) await this.writeMetadata('0.1');
    const failure = run === null ? { name: 'RunGone', message: 'the run is no longer there' } : run.error;
    if (failure !== null) {
      const { name, message } = failure;
      await this.writer.write('error', JSON.stringify({ error: name, name, message }), null);
    }
    await this.writer.write('end', 'null', String(last));
    await this.writer.end();
  }
}

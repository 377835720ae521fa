import { type AiMessage, type AppError, isRecord, type Message, ModelError, omitUndefined } from '@caribou/contracts';
import {
  type CallCause,
  type CallUsage,
  callUsage,
  type ChainRecorder,
  type ModelCall,
  type ModelPort,
  type OpenModelCall,
  type OpenToolCall,
  type StepTrace,
  type StepTracer,
  type TracedFailure,
  type TracedModelCall,
  type TracedToolCall,
} from '@caribou/core';
import { tracedRequest } from './traced-request.js';

/** Maximum number of calls that are recorded of one step. */
const MAX_CALLS = 400;
const MAX_ERROR_CHARS = 300;
const MAX_RESULT_CHARS = 200;
const MAX_NAME_CHARS = 100;

/**
 * Records what a process does for a run between two commits. The commit writes it; what was recorded is removed once the commit
 * has taken effect, so that a repeated one writes the same.
 */
export class StepRecorder implements StepTracer {
  private calls: RecordedCall[] = [];
  private tools: TracedToolCall[] = [];
  private dropped = 0;
  private attempts = 0;
  private last: Pick<TracedModelCall, 'model' | 'outcome'> | undefined;
  private lastCommitMs: number | undefined;

  /** The messages of the newest checkpoint. */
  private base: readonly Message[] = [];

  constructor(private readonly recorder: ChainRecorder) {}

  /** Begins to describe requests by the messages of this checkpoint. */
  basedOn(messages: readonly Message[]): void {
    this.base = messages;
  }

  modelCall(model: ModelPort, call: ModelCall): OpenModelCall {
    const { recorder } = this;
    const atMs = recorder.nowMs();
    const because = causeOf(this.last, model.name);
    this.attempts += 1;
    const begun = { atMs, caller: 'lead_agent', attempt: this.attempts, because, ...modelFields(model) };
    let firstTokenMs: number | undefined;
    let isOpen = true;
    const add = (ended: Pick<TracedModelCall, 'outcome'> & Partial<TracedModelCall>): void => {
      if (!isOpen) return;
      isOpen = false;
      this.last = { model: model.name, outcome: ended.outcome };
      const durationMs = recorder.nowMs() - atMs;
      const traced = { ...begun, durationMs, ...omitUndefined({ firstTokenMs }), ...ended };
      this.addTo(this.calls, { traced, call });
    };
    return {
      firstPiece: () => {
        firstTokenMs ??= recorder.nowMs() - atMs;
      },
      end: (answer) => add({ outcome: 'ok', ...answerFields(answer) }),
      fail: (error) => add(error instanceof ModelError ? { outcome: 'error', error: failureOf(error) } : ABORTED),
    };
  }

  toolCall({ name, id, args }: { readonly name: string; readonly id: string; readonly args?: unknown }): OpenToolCall {
    const { recorder } = this;
    const atMs = recorder.nowMs();
    const kind = name === 'task' && isRecord(args) ? args['subagent_type'] : undefined;
    const begun = {
      ...{ atMs, id, name: name.slice(0, MAX_NAME_CHARS) },
      ...omitUndefined({ subagentType: typeof kind === 'string' ? kind.slice(0, MAX_NAME_CHARS) : undefined }),
    };
    let isOpen = true;
    const add = (ended: Pick<TracedToolCall, 'outcome' | 'error'>): void => {
      if (isOpen) this.addTo(this.tools, { ...begun, durationMs: recorder.nowMs() - atMs, ...ended });
      isOpen = false;
    };
    return {
      end: (outcome, error) => add({ outcome, ...omitUndefined({ error: error?.slice(0, MAX_RESULT_CHARS) }) }),
      fail: () => add({ outcome: 'aborted' }),
    };
  }

  /**
   * What was recorded since the last commit.
   *
   * @param used model calls of middlewares, of which only the tokens are known
   * @param after the messages of the checkpoint that the step ends with
   */
  step(used: readonly CallUsage[] = [], after?: readonly Message[]): StepTrace {
    const nowMs = this.recorder.nowMs();
    const { durationMs, chain: parts } = this.recorder.stepSummary();
    const messages = { before: this.base, ...omitUndefined({ after }) };
    const others = used.filter(({ caller }) => caller === 'middleware').slice(0, MAX_CALLS);
    return {
      nowMs,
      calls: [
        ...this.calls.map(({ traced, call }) => ({ ...traced, request: tracedRequest(call, messages) })),
        ...others.map((usage) => middlewareCall(usage, nowMs)),
      ],
      tools: this.tools,
      dropped: this.dropped,
      ...(parts.length === 0 ? {} : { hooks: { durationMs, parts } }),
      ...omitUndefined({ lastCommitMs: this.lastCommitMs }),
    };
  }

  /** Begins the next step, after a commit that took so long. */
  committed(durationMs: number): void {
    this.calls = [];
    this.tools = [];
    this.dropped = 0;
    this.attempts = 0;
    this.last = undefined;
    this.lastCommitMs = durationMs;
    this.recorder.beginStep();
  }

  private addTo<Call>(calls: Call[], call: Call): void {
    if (calls.length < MAX_CALLS) calls.push(call);
    else this.dropped += 1;
  }
}

/** A call whose request is described when the messages are known that the step ends with. */
interface RecordedCall {
  readonly traced: TracedModelCall;
  readonly call: ModelCall;
}

const ABORTED = { outcome: 'aborted' } as const;

function causeOf(last: Pick<TracedModelCall, 'model' | 'outcome'> | undefined, model: string): CallCause {
  if (last === undefined) return 'first';
  if (last.outcome === 'ok') return 'layer';
  return last.model === model ? 'retry' : 'fallback';
}

const modelFields = ({ name, endpoint }: ModelPort) => ({
  model: name,
  providerModel: endpoint.model,
  provider: endpoint.provider.slice(0, MAX_NAME_CHARS),
});

function answerFields({ id, response_metadata: metadata, usage_metadata: usage }: AiMessage): Partial<TracedModelCall> {
  const reason = metadata['finish_reason'];
  const base = {
    messageId: id,
    ...omitUndefined({ finishReason: typeof reason === 'string' ? reason.slice(0, MAX_NAME_CHARS) : undefined }),
  };
  if (usage === undefined) return base;
  return { ...base, ...tokensOf(callUsage({ caller: 'lead_agent', model: '' }, usage)) };
}

const tokensOf = ({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens }: CallUsage) => ({
  ...{ inputTokens, outputTokens },
  ...omitUndefined({ cachedInputTokens, reasoningTokens }),
});

const middlewareCall = (usage: CallUsage, atMs: number): TracedModelCall => ({
  ...{ atMs, caller: usage.caller, attempt: 1, because: 'first', model: usage.model, outcome: 'ok' },
  ...tokensOf(usage),
});

/** The message of an error of models is ours and has no text of the provider, which may show a key. */
function failureOf({ name, message, details }: AppError): TracedFailure {
  const { reason, providerStatus: status } = details;
  return {
    ...{ name, message: message.slice(0, MAX_ERROR_CHARS) },
    ...omitUndefined({
      reason: typeof reason === 'string' ? reason : undefined,
      status: typeof status === 'number' ? status : undefined,
    }),
  };
}

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
import { type StepMessages, tracedRequest } from './traced-request.js';

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
    const attempt = this.attempts;
    let firstTokenMs: number | undefined;
    let isOpen = true;
    const add = (outcome: TracedModelCall['outcome'], answer?: AiMessage, error?: ModelError): void => {
      if (!isOpen) return;
      isOpen = false;
      this.last = { model: model.name, outcome };
      const durationMs = recorder.nowMs() - atMs;
      this.addTo(this.calls, { atMs, attempt, because, model, call, firstTokenMs, durationMs, outcome, answer, error });
    };
    return {
      firstPiece: () => {
        firstTokenMs ??= recorder.nowMs() - atMs;
      },
      end: (answer) => add('ok', answer),
      fail: (error) => (error instanceof ModelError ? add('error', undefined, error) : add('aborted')),
    };
  }

  toolCall({ name, id, args }: { readonly name: string; readonly id: string; readonly args?: unknown }): OpenToolCall {
    const { recorder } = this;
    const atMs = recorder.nowMs();
    const kind = name === 'task' && isRecord(args) ? args['subagent_type'] : undefined;
    const begun = {
      atMs,
      id,
      name: shortName(name),
      subagentType: typeof kind === 'string' ? shortName(kind) : undefined,
    };
    let isOpen = true;
    const add = (outcome: TracedToolCall['outcome'], error?: string): void => {
      if (isOpen) this.addTo(this.tools, { ...begun, durationMs: recorder.nowMs() - atMs, outcome, error });
      isOpen = false;
    };
    return {
      end: (outcome, error) => add(outcome, error?.slice(0, MAX_RESULT_CHARS)),
      fail: () => add('aborted'),
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
        ...this.calls.map((recorded) => tracedCall(recorded, messages)),
        ...others.map((usage) => middlewareCall(usage, nowMs)),
      ],
      tools: this.tools,
      dropped: this.dropped,
      hooks: parts.length === 0 ? undefined : { durationMs, parts },
      lastCommitMs: this.lastCommitMs,
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
interface RecordedCall
  extends Pick<TracedModelCall, 'atMs' | 'attempt' | 'because' | 'durationMs' | 'firstTokenMs' | 'outcome'> {
  readonly model: ModelPort;
  readonly call: ModelCall;
  readonly answer: AiMessage | undefined;
  readonly error: ModelError | undefined;
}

function causeOf(last: Pick<TracedModelCall, 'model' | 'outcome'> | undefined, model: string): CallCause {
  if (last === undefined) return 'first';
  if (last.outcome === 'ok') return 'layer';
  return last.model === model ? 'retry' : 'fallback';
}

const shortName = (name: string): string => name.slice(0, MAX_NAME_CHARS);

function tracedCall(recorded: RecordedCall, messages: StepMessages): TracedModelCall {
  const { model, answer, error } = recorded;
  const reason = answer?.response_metadata['finish_reason'];
  return {
    atMs: recorded.atMs,
    caller: 'lead_agent',
    attempt: recorded.attempt,
    because: recorded.because,
    model: model.name,
    providerModel: model.endpoint.model,
    provider: shortName(model.endpoint.provider),
    outcome: recorded.outcome,
    firstTokenMs: recorded.firstTokenMs,
    durationMs: recorded.durationMs,
    tokens: answer?.usage_metadata && callUsage({ caller: 'lead_agent', model: '' }, answer.usage_metadata),
    finishReason: typeof reason === 'string' ? shortName(reason) : undefined,
    messageId: answer?.id,
    error: error && failureOf(error),
    request: tracedRequest(recorded.call, messages),
  };
}

const middlewareCall = (usage: CallUsage, atMs: number): TracedModelCall => ({
  ...{ atMs, caller: usage.caller, attempt: 1, because: 'first', model: usage.model, outcome: 'ok', tokens: usage },
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

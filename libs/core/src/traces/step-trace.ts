import type { AiMessage } from '@caribou/contracts';
import type { ModelCall, ModelPort } from '../ports/model-port.js';
import type { CallUsage } from '../usage/call-usage.js';

/** A text that a request had, by its hash. One that is too large to be stored has `large-<size>` and no text. */
export interface TracedText {
  readonly hash: string;
  readonly text?: string;
  /** Whether it has nothing of the thread, so that many threads of the user have the same one. */
  readonly isOfUser?: boolean;
}

/**
 * A request of a model without the texts that are stored anyway. A part of `messages` is a range of the messages of a checkpoint, or a
 * message that the chain added or changed for the request alone.
 */
export interface TracedRequest {
  readonly parameters: Readonly<Record<string, string | number | boolean>>;
  readonly system: TracedText;
  readonly tools: TracedText;
  readonly messages: readonly (TracedRange | TracedText | TracedEdit | OmittedMessages)[];
}

export interface TracedRange {
  /** Whether it is of the checkpoint before the step, and not of the one that the step ends with. */
  readonly isBefore: boolean;
  readonly from: number;
  readonly count: number;
}

/** A replacement in a text; several of one text are in order and count in the original. */
export interface TextEdit {
  readonly at: number;
  readonly removed: number;
  readonly inserted: string;
}

/** A message of a checkpoint as the chain changed it for the request: edits of its JSON. */
export interface TracedEdit {
  readonly isBefore: boolean;
  readonly index: number;
  readonly edits: readonly TextEdit[];
}

/** Messages of a request that is too scattered to be described. */
export interface OmittedMessages {
  readonly omitted: number;
}

/** Why a model call was made: the first of its step, after a failed one, or because a layer asked again. */
export type CallCause = 'first' | 'retry' | 'fallback' | 'layer';

export interface TracedFailure {
  readonly name: string;
  readonly reason?: string;
  readonly status?: number;
  readonly message: string;
}

/** One call of a model. Times are in milliseconds, `atMs` since 1970. */
export interface TracedModelCall {
  readonly atMs: number;
  readonly caller: string;
  readonly attempt: number;
  readonly because: CallCause;
  readonly model: string;
  readonly providerModel?: string | undefined;
  readonly provider?: string | undefined;
  readonly outcome: 'ok' | 'error' | 'aborted';
  readonly firstTokenMs?: number | undefined;
  readonly durationMs?: number | undefined;
  readonly tokens?:
    | Pick<CallUsage, 'inputTokens' | 'outputTokens' | 'cachedInputTokens' | 'reasoningTokens'>
    | undefined;
  readonly finishReason?: string | undefined;
  readonly messageId?: string | undefined;
  readonly error?: TracedFailure | undefined;
  readonly request?: TracedRequest | undefined;
}

export type ToolCallOutcome = 'ok' | 'error' | 'unknown' | 'interrupted' | 'aborted';

export interface TracedToolCall {
  readonly atMs: number;
  readonly name: string;
  readonly id: string;
  readonly durationMs: number;
  readonly outcome: ToolCallOutcome;
  /** The beginning of the error that the model was given. */
  readonly error?: string | undefined;
  /** Of a call that delegates a task: the kind of the subagent. */
  readonly subagentType?: string | undefined;
}

/** What the hooks of a middleware took in a step, and what they decided. */
interface TracedHooks {
  readonly middleware: string;
  readonly ms: number;
  readonly calls: number;
  readonly decisions: readonly string[];
}

/** What a process did for a run since its last commit. */
export interface StepTrace {
  /** The time by the clock of the other times. */
  readonly nowMs: number;
  readonly calls: readonly TracedModelCall[];
  readonly tools: readonly TracedToolCall[];
  readonly hooks?: { readonly durationMs: number; readonly parts: readonly TracedHooks[] } | undefined;
  /** How long the commit before took. */
  readonly lastCommitMs?: number | undefined;
  /** Calls that are left out, as there were too many. */
  readonly dropped: number;
}

/** Records one call of a model. */
export interface OpenModelCall {
  firstPiece(): void;
  end(answer: AiMessage): void;
  fail(error: unknown): void;
}

/** Records one call of a tool. */
export interface OpenToolCall {
  end(outcome: Exclude<ToolCallOutcome, 'aborted'>, error?: string): void;
  fail(): void;
}

/** Records the calls of a run for its trace. */
export interface StepTracer {
  modelCall(model: ModelPort, call: ModelCall): OpenModelCall;
  toolCall(call: { readonly name: string; readonly id: string; readonly args?: unknown }): OpenToolCall;
}

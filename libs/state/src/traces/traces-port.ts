import type { Message, RunRecord, TraceEntry } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';

/** A run whose trace is read. */
export interface TracedRun extends ThreadKey {
  readonly runId: string;
  /** Its record; null for a task whose record has expired. */
  readonly record: Pick<RunRecord, 'stop_reason' | 'error' | 'base_checkpoint_id'> | null;
}

export interface TracePage {
  /** Oldest first. */
  readonly entries: readonly TraceEntry[];
  /** `after` of the next page; null after the last entry. */
  readonly next: number | null;
  /** When the trace expires, in milliseconds since 1970; null while the run has not ended, and without a trace. */
  readonly retainedUntilMs: number | null;
}

/** Why a part of a request cannot be shown. */
export type MissingReason = 'expired' | 'checkpoint_gone' | 'too_large';

export interface RequestMessage {
  readonly index: number;
  /** `chain`: a middleware added or changed it for the request. */
  readonly from: 'state' | 'chain';
  readonly message: Message | MissingReason;
}

export interface StoredTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: unknown;
}

/** A request as a model got it, with one page of its messages. */
export interface StoredRequest {
  readonly at: string;
  readonly model: string;
  readonly providerModel: string | null;
  /** Null when the trace has no checkpoint before the request any more. */
  readonly checkpointId: string | null;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly system: string | { readonly missing: MissingReason };
  readonly tools: readonly StoredTool[] | { readonly missing: MissingReason };
  readonly messages: readonly RequestMessage[];
  readonly totalMessages: number;
}

/** The traces of runs. All methods throw UnavailableError when Redis does not answer in time. */
export interface RunTraces {
  /** The entries after one, at most `limit`; none for a run without a trace. */
  read(run: TracedRun, page: { readonly after: number; readonly limit: number }): Promise<TracePage>;
  /**
   * The request of a model call; null when there is none of this number.
   *
   * @param call number of its entry
   */
  request(
    run: TracedRun,
    call: number,
    page: { readonly offset: number; readonly limit: number },
  ): Promise<StoredRequest | null>;
}

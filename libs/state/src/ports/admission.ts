import type { CronStart } from './cron-store.js';
import type { NumberedEvent, QuotaUse, RequestedStrategy, RunKwargs, RunRecord, RunSummary } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';

export interface AdmitRequest extends ThreadKey {
  readonly runId: string;
  readonly assistantId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly kwargs: RunKwargs;
  readonly multitaskStrategy: RequestedStrategy;
  /** With strategy `steer`: no run is started when none is in flight. */
  readonly joinOnly?: boolean;
  readonly ifNotExists: 'create' | 'reject';
  /** Metadata of the thread if this admission creates it. */
  readonly threadMetadata: Readonly<Record<string, unknown>>;
  readonly checkpointId?: string;
  readonly idempotency?: { readonly key: string; readonly bodyHash: string };
  readonly traceparent?: string;
  /** Id of the API key that pays for the run; absent for other senders. */
  readonly apiKey?: string;
  /** URL that gets an event when the run has ended. */
  readonly webhook?: string;
  /** The run starts no earlier than this after its admission, in milliseconds; absent: at once. */
  readonly delayMs?: number;
  /** The due time of a cron that this run is for. */
  readonly cron?: CronStart;
  /** The head that the input answers a question of; refused when the thread has another one, or a run in flight. */
  readonly expectedHead?: string;
  /** Decisions that the run carries out, for the audit stream. */
  readonly decisions?: readonly DecisionLine[];
}

export interface AdmitResult {
  readonly run: RunRecord;
  /** Whether the idempotency key was known; `run` is then the run of the first call. */
  readonly repeated: boolean;
  /** Runs whose cancel flag this admission set; the caller broadcasts their cancels. */
  readonly cancelled: readonly string[];
  /** Queued runs that this admission ended. */
  readonly ended: readonly EndedRun[];
  /** Whether no runner is to be notified: a run of the thread is under way, whose end starts the next one, or this run waits for its time. */
  readonly isUnderWay: boolean;
  /** Whether streams follow the thread: they are notified of this run. True when that is unknown. */
  readonly isFollowed: boolean;
  /** The newest checkpoint of the thread; null for none, for a repeated request and when that is unknown. */
  readonly headId: string | null;
  /** Size in bytes of the state that the run starts with; 0 for a repeated request. */
  readonly stateBytes: number;
  /** Set when the messages were given to `run`, which was in flight: number of the newest checkpoint event in its log. */
  readonly joinedAfter?: number;
  /** The runs of the user that wait or run, with this one; null when that is unknown. */
  readonly runs: QuotaUse | null;
}

/** A queued run that ended without having had an owner; the caller publishes its last events. */
export interface EndedRun {
  readonly runId: string;
  readonly appended: readonly NumberedEvent[];
}

export interface CancelOptions {
  /** A run with another status does not change. */
  readonly status?: 'pending' | 'running';
  /** Who asks, for the run's trace: one word such as `user:<id>`. */
  readonly by?: string;
}

export interface CancelResult {
  readonly run: RunSummary;
  /**
   * The run is current, so its owner must be notified. False: it was finished already, or was queued and has ended now.
   */
  readonly broadcast: boolean;
  /** The run, when this call ended it. */
  readonly ended: readonly EndedRun[];
}

interface Line {
  readonly id: string;
  /** The owner of the thread, and the run that carries the decision out. */
  readonly user_id: string;
  readonly thread_id: string;
  readonly run_id: string;
  readonly interrupt_id: string;
  readonly tool_call_id?: string;
  /** What was asked, cut; values that look like secrets are left out. */
  readonly what: string;
  /** User id; absent: the deadline decided. */
  readonly decided_by?: string;
  /** Address of the client that sent the decision. */
  readonly decided_from?: string;
}

/** A decision about a tool call, or about the further cost of a turn. */
interface ApprovalLine extends Line {
  readonly operation: 'approval';
  readonly call_hash?: string;
  /** The rules that asked. */
  readonly rules: readonly string[];
  readonly verdict: string;
}

/** An answer to any other question: of a tool, of a middleware, of the agent, or of a run that was paused. */
interface AnswerLine extends Line {
  readonly operation: 'answer';
  readonly verdict: 'answer';
  /** The answer, cut; left out when it looks like a secret. */
  readonly answer: string;
}

/** What an administrator did to the work of a user, for the audit stream; the store adds the time as `at`. */
export interface AdminLine {
  readonly id: string;
  /** The owner of the work. */
  readonly user_id: string;
  readonly thread_id?: string;
  readonly run_id?: string;
  readonly operation:
    | 'dead_letter.replay'
    | 'dead_letter.drop'
    | 'run.cancel'
    | 'cron.pause'
    | 'cron.delete'
    | 'webhook.retry'
    | 'model.circuit.reset';
  /** What it was done to, such as the id of a dead letter or a cron. */
  readonly what: string;
  /** `requested`: written before it was done; `ok`: written by the script that did it; `error:<code>`: it was not done. */
  readonly verdict: string;
  readonly decided_by: string;
  /** Address of the administrator's client. */
  readonly decided_from?: string;
}

/** What a person or a deadline decided, for the audit stream; the store adds the time as `at`. */
export type DecisionLine = ApprovalLine | AnswerLine | AdminLine;

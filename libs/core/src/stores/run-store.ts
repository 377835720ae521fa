import type {
  CancelAction,
  CheckpointMetadata,
  MultitaskStrategy,
  NextNode,
  NumberedEvent,
  RunEvent,
  RunKwargs,
  RunRecord,
  RunStatus,
  RunSummary,
  ThreadState,
} from '@caribou/contracts';
import type { TurnUsage } from '../agent/agent-runtime.js';
import type { ThreadKey } from '../util/thread-key.js';

/** The right to write a thread for one run: all three are compared in every fenced script. */
export interface RunLease extends ThreadKey {
  readonly runId: string;
  /** Unique per claim. */
  readonly ownerId: string;
  readonly epoch: number;
}

/**
 * The newest state of a thread as its owner holds it. The store finds what is new in the next state by message
 * identity, so the state must come from `applyUpdate` on this one. `log` is the store's own bookkeeping.
 */
export interface ThreadHead {
  readonly checkpointId: string | null;
  readonly metadata: CheckpointMetadata | null;
  readonly next: readonly NextNode[];
  readonly state: ThreadState;
  readonly log: unknown;
}

/** The fields of a stored record as texts, each cut to a few thousand characters. */
export type RawRecord = Readonly<Record<string, string>>;

export type ClaimResult =
  /** Nothing to run: the wake is stale. */
  | { readonly kind: 'idle' }
  /** Another live owner has the thread. */
  | { readonly kind: 'busy' }
  /** What the store holds of the run cannot be read by this version: the claimer ends the run. */
  | { readonly kind: 'unreadable'; readonly lease: RunLease; readonly reason: Error; readonly record: RawRecord }
  | {
      readonly kind: 'run';
      readonly lease: RunLease;
      /** As it stands after the claim: status running, `attempt` counted, `cancel`, `dropped_message_ids` complete. */
      readonly run: RunRecord;
      readonly head: ThreadHead;
      /** More than the allowed attempts without a commit between them: end it as an error. */
      readonly exhausted: boolean;
      /** Milliseconds since its first claim, by the store's clock. */
      readonly ranMs: number;
    };

/** One checkpoint to be: everything the script needs that is not already in Redis. */
export interface CommitRequest {
  /** The head this state was built on. */
  readonly head: ThreadHead;
  /**
   * First commit of a forked run: the checkpoint it starts from, as `loadCheckpoint` gave it. Then `state` is built on
   * this one's state, the new checkpoint's parent is this one, and `head` is only what the script expects to replace.
   */
  readonly forkedFrom?: ThreadHead;
  /** State to show, made by `applyUpdate` on the state of `forkedFrom`, else of `head`. */
  readonly state: ThreadState;
  readonly next: readonly NextNode[];
  readonly source: CheckpointMetadata['source'];
  readonly step: number;
  /** Events before the store's own `checkpoint` event, in order. */
  readonly events: readonly RunEvent[];
  /** As for `append`. */
  readonly after?: number;
  /** This checkpoint holds the run's input. */
  readonly inputCommitted?: boolean;
  readonly usage?: TurnUsage;
  /** Shown as the failed task of the checkpoint. */
  readonly error?: { readonly name: string; readonly message: string };
}

export interface CommitResult {
  readonly head: ThreadHead;
  /** The appended events with the store's `checkpoint` event last, as they must be published. */
  readonly appended: readonly NumberedEvent[];
  /** Cancel flag as the script saw it. */
  readonly cancel: CancelAction | null;
}

export interface FinishRequest {
  readonly status: RunStatus;
  readonly error?: { readonly name: string; readonly message: string };
  readonly stopReason?: string;
  /** A last checkpoint, written by the same script. */
  readonly commit?: CommitRequest;
  /** Events after the checkpoint (an `error`); the script itself appends the one `end`. */
  readonly events: readonly RunEvent[];
  /** The run said something that memory may learn from, as this agent; a temporary thread is not remembered. */
  readonly remember?: { readonly agent: string };
  /** For the operator, stored by the same script; a run that is rolled back has none. */
  readonly deadLetter?: DeadLetter;
  /** The run's record cannot be read: an empty one that can takes its place. */
  readonly unreadable?: boolean;
  /** Rollback: the head moves to the run's base, the run's checkpoints and its record go. */
  readonly rollback?: boolean;
}

/** What could not be worked on. */
export interface DeadLetter {
  readonly id: string;
  readonly entry: Readonly<Record<string, unknown>>;
}

/** A thread with something to run that nobody runs. */
export interface UnownedThread extends ThreadKey {
  /** Its run was begun: the owner died, or handed it over. */
  readonly interrupted: boolean;
  /** Its rank among the pending threads, by age. */
  readonly rank: number;
}

export interface FinishResult {
  /** Empty when the same owner has ended the run before: whoever repeats it finds the events in the log. */
  readonly appended: readonly NumberedEvent[];
  /** Whether the thread still has something to run: the caller publishes a wake. */
  readonly more: boolean;
}

/**
 * The runner's face of the store. Every write is one fenced Lua script: owner compared for equality, epoch, current run
 * and expected head; all checks before the first write.
 *
 * All methods throw FencedError when the caller is not the owner (any more) and UnavailableError when Redis does not
 * answer in time: then the outcome is unknown, and repeating `renew` or reading tells.
 */
export interface RunStore {
  /** Takes the thread's `current` run, else the head of its inbox; queued runs with a cancel flag are carried out on the way. */
  claim(thread: ThreadKey, ownerId: string): Promise<ClaimResult>;
  /** The head a forked run starts from. @throws {NotFoundError} when the checkpoint is gone. */
  loadCheckpoint(thread: ThreadKey, checkpointId: string): Promise<ThreadHead>;
  /**
   * Prolongs the lease; the reply carries the cancel flag. A lease that lapsed is taken again, by this as by every other
   * write, as long as nobody claimed the thread since: the clock of the store may have jumped.
   */
  renew(lease: RunLease): Promise<{ readonly cancel: CancelAction | null }>;
  /**
   * Appends events to the run's log. `openMessageId` names the message that is being streamed, so that a takeover
   * knows what to drop; null clears it; `dropped` adds ids given up in this attempt. `after` is the number of the newest
   * event in the log: with it a write may be repeated when its outcome is unknown, and takes effect once.
   */
  append(
    lease: RunLease,
    events: readonly RunEvent[],
    options?: {
      readonly openMessageId?: string | null;
      readonly dropped?: readonly string[];
      readonly after?: number;
    },
  ): Promise<readonly NumberedEvent[]>;
  commit(lease: RunLease, request: CommitRequest): Promise<CommitResult>;
  finish(lease: RunLease, request: FinishRequest): Promise<FinishResult>;
  /** Gives the thread back with its run still current and without counting an attempt. */
  handOver(lease: RunLease): Promise<void>;
  /**
   * Threads with something to run and no live lease, oldest first, at most `limit`; jittered callers republish their wakes.
   * @param from the rank to begin at; default 0
   */
  listUnowned(limit: number, from?: number): Promise<readonly UnownedThread[]>;
  /** Dead letters that are not copied to the bus yet, oldest first, at most `limit`. */
  listDeadLetters(limit: number): Promise<readonly DeadLetter[]>;
  /** Removes a dead letter of the list, once it has been copied. Idempotent. */
  removeDeadLetter(letter: DeadLetter): Promise<void>;
  /** Whether the thread is in the pending set. */
  hasWork(thread: ThreadKey): Promise<boolean>;
  /** Resolves when the store takes writes. @throws {UnavailableError} with the reason */
  ping(): Promise<void>;
}

export interface AdmitRequest extends ThreadKey {
  readonly runId: string;
  readonly assistantId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly kwargs: RunKwargs;
  readonly multitaskStrategy: MultitaskStrategy;
  readonly ifNotExists: 'create' | 'reject';
  /** Metadata the thread gets when this admission creates it. */
  readonly threadMetadata: Readonly<Record<string, unknown>>;
  readonly checkpointId?: string;
  readonly idempotency?: { readonly key: string; readonly bodyHash: string };
  readonly traceparent?: string;
}

export interface AdmitResult {
  readonly run: RunRecord;
  /** The idempotency key was known: `run` is the first call's. */
  readonly repeated: boolean;
  /** Runs whose cancel flag this admission set: the caller broadcasts their cancel. */
  readonly cancelled: readonly string[];
  /** Queued runs this admission ended. */
  readonly ended: readonly EndedRun[];
  /** Size of the state that the run will find, in bytes; 0 for a repeated request. */
  readonly stateBytes: number;
}

/** A queued run that ended without ever having an owner: the caller publishes its last events to who listens. */
export interface EndedRun {
  readonly runId: string;
  readonly appended: readonly NumberedEvent[];
}

export interface CancelResult {
  readonly run: RunSummary;
  /** The owner must be told: the run is current. False: it was finished already, or was queued and is gone now. */
  readonly broadcast: boolean;
  /** The run, when this call ended it. */
  readonly ended: readonly EndedRun[];
}

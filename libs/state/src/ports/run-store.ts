import type { BudgetState, Payer } from './usage-ledger.js';
import type {
  CancelAction,
  CheckpointMetadata,
  GoalChange,
  NextNode,
  HumanMessage,
  NumberedEvent,
  RunEvent,
  RunRecord,
  RunStatus,
  ThreadState,
} from '@caribou/contracts';
import type { BegunAdmission, OfferedRun, StepTrace, TurnUsage, ThreadKey, UnpublishedFiles } from '@caribou/core';

/** The right to write a thread for one run; every fenced script compares run, owner and epoch. */
export interface RunLease extends ThreadKey {
  readonly runId: string;
  /** Unique per claim. */
  readonly ownerId: string;
  readonly epoch: number;
}

/**
 * The newest state of a thread in its owner's memory. The store finds what is new in the next state by message
 * identity, so the state must come from `applyUpdate` on this one. `log` belongs to the store.
 */
export interface ThreadHead {
  readonly checkpointId: string | null;
  readonly metadata: CheckpointMetadata | null;
  readonly next: readonly NextNode[];
  readonly state: ThreadState;
  readonly log: unknown;
}

/** The newest states of threads that a process holds. */
export interface HeldHeads {
  get(thread: ThreadKey): ThreadHead | undefined;
  set(thread: ThreadKey, head: ThreadHead): void;
}

/** The fields of a stored record as texts, each cut to a few thousand characters. */
export type RawRecord = Readonly<Record<string, string>>;

export type ClaimResult =
  /** There is no run to execute: the wake is stale. */
  | { readonly kind: 'idle' }
  /** The thread has another live owner. */
  | { readonly kind: 'busy' }
  /** The user has as many running threads as he may have. */
  | { readonly kind: 'capped' }
  /** The offered run was not admitted: more has to be decided for it, or this process does not hold the state of the thread. */
  | { readonly kind: 'not_begun' }
  /** This version cannot read the stored run, which the claimer must end. */
  | { readonly kind: 'unreadable'; readonly lease: RunLease; readonly reason: Error; readonly record: RawRecord }
  | {
      readonly kind: 'run';
      readonly lease: RunLease;
      /**
       * The record after the claim: status running, `attempt` increased, `cancel` and `dropped_message_ids` current.
       */
      readonly run: RunRecord;
      readonly head: ThreadHead;
      /** Whether there were too many attempts without a commit between them; the run must be ended as an error. */
      readonly exhausted: boolean;
      /** Milliseconds since its first claim, by the store's clock. */
      readonly ranMs: number;
      /** Messages that wait to join the run, oldest first; absent: none. */
      readonly waiting?: readonly WaitingMessage[];
      /** The change of the goal that the run is to make; absent: none. */
      readonly goalChange?: GoalChange;
      /** The first commit of a run that begins, when the claim has written it; `run` and `head` are those before it. */
      readonly committed?: CommitResult;
      /** What the store decided of a run that was admitted by the claim. */
      readonly admitted?: BegunAdmission;
      /** The manager that has files of before the run which are not stored yet, for a run that begins; absent: none. */
      readonly filesWith?: Pick<UnpublishedFiles, 'managerId' | 'machine'>;
    };

/** A message that a client gave to a run under way. */
export interface WaitingMessage {
  /** The run that it was given to; when that run ended before it joined, the next one takes it. */
  readonly runId: string;
  readonly message: HumanMessage;
}

/** A checkpoint to write: everything the script needs that is not in Redis yet. */
export interface CommitRequest {
  /** The head this state was built on. */
  readonly head: ThreadHead;
  /**
   * First commit of a forked run: the checkpoint it starts from, as returned by `loadCheckpoint`. It is the new
   * checkpoint's parent, `state` is built on its state, and `head` is only what the script expects to replace.
   */
  readonly forkedFrom?: ThreadHead;
  /** The new state, made by `applyUpdate` from the state of `forkedFrom` or else of `head`. */
  readonly state: ThreadState;
  readonly next: readonly NextNode[];
  readonly source: CheckpointMetadata['source'];
  readonly step: number;
  /** Events before the store's own `checkpoint` event, in order. */
  readonly events: readonly RunEvent[];
  /** Number of the newest event, as in `append`. */
  readonly after?: number;
  /** This checkpoint contains the run's input. */
  readonly inputCommitted?: boolean;
  /** Id of the message that is streamed next, if any: should the run be taken over before its next commit, it is dropped. */
  readonly opens?: string;
  /** How many of the messages that waited, from the oldest, this checkpoint contains: they wait no more. */
  readonly joined?: number;
  /** Text of the change of the goal that this checkpoint contains. */
  readonly goalChange?: string;
  readonly usage?: TurnUsage;
  /** Shown as the failed task of the checkpoint. */
  readonly error?: { readonly name: string; readonly message: string };
  /** What the process did since the last commit, for the run's trace. */
  readonly trace?: StepTrace;
}

export interface CommitResult {
  readonly head: ThreadHead;
  /** The appended events with the store's `checkpoint` event last, as they must be published. */
  readonly appended: readonly NumberedEvent[];
  /** Bytes of the checkpoint and of the messages and values that it added. */
  readonly stateBytes: number;
  /** `opens` of the request. */
  readonly opens?: string;
  /** The cancel flag at the time of the script. */
  readonly cancel: CancelAction | null;
  /** What this commit's usage did to the budgets of the day; before a model call also what others did. */
  readonly budget: BudgetState;
  /** Messages that wait to join the run after this commit, oldest first; absent: none. */
  readonly waiting?: readonly WaitingMessage[];
  /** The run is to stop before its next step. */
  readonly pause?: true;
  /** The change of the goal that the run is to make; absent: none. */
  readonly goalChange?: GoalChange;
}

export interface FinishRequest {
  readonly status: RunStatus;
  readonly error?: { readonly name: string; readonly message: string };
  readonly stopReason?: string;
  /** A last checkpoint, written by the same script. */
  readonly commit?: CommitRequest;
  /** What the process did since the last commit, for the run's trace; that of `commit` is not read. */
  readonly trace?: StepTrace;
  /** Events after the checkpoint (an `error`); the script itself appends the one `end`. */
  readonly events: readonly RunEvent[];
  /** What readers may have seen before it was stored; absent when there is no such event. */
  readonly shown?: ShownEvents;
  /** The conversation may be extracted into this agent's memory; never set for temporary threads. */
  readonly remember?: { readonly agent: string };
  /** Stored by the same script for the operator; absent for a run that is rolled back. */
  readonly deadLetter?: DeadLetter;
  /** The run's record cannot be read and is replaced by an empty, readable one. */
  readonly unreadable?: boolean;
  /** Rollback: the head moves to the run's base; the run's checkpoints and record are deleted. */
  readonly rollback?: boolean;
}

/** Events that were published before they were stored. */
export interface ShownEvents {
  /** Number of the newest one. */
  readonly last: number;
  /** Whether the request lacks some of them: their numbers are then not used for other events. */
  readonly incomplete: boolean;
}

export interface AppendOptions {
  /** The message that is being streamed, so that a takeover knows what to drop; null: none; absent: unchanged. */
  readonly openMessageId?: string | null;
  /** Ids of messages that were abandoned in this attempt. */
  readonly dropped?: readonly string[];
  /**
   * Number of the newest event in the log: with it a write may be repeated when its outcome is unknown, and takes effect
   * once.
   */
  readonly after?: number;
}

/** Work that could not be processed. */
export interface DeadLetter {
  readonly id: string;
  readonly entry: Readonly<Record<string, unknown>>;
}

/** A thread with pending runs and no owner. */
export interface UnownedThread extends ThreadKey {
  /** Its run was started: the owner died or handed it over. */
  readonly interrupted: boolean;
  /** Its rank among the pending threads, by age. */
  readonly rank: number;
}

export interface FinishResult {
  /**
   * Nothing was written: the run was about to succeed, but this waits for it, messages to join it or else a change of the
   * goal. It has to continue.
   */
  readonly steered?: 'messages' | 'goal';
  /** The events of the run's end; empty when the same owner finished the run before, as the log has them already. */
  readonly appended: readonly NumberedEvent[];
  /** Bytes of the last checkpoint and of the messages and values that it added. */
  readonly stateBytes: number;
  /** Bytes of the run's event log; null when the same owner finished the run before. */
  readonly logBytes: number | null;
  /** Whether a thread waits for the slot: this one has further runs, or its user was passed over at his limit. */
  readonly more: boolean;
  /** Whether no thread waited for a slot when the run ended; false when that is not known. */
  readonly queueIsEmpty: boolean;
  /** What the last commit's usage did to the budgets of the day. */
  readonly budget: BudgetState;
}

/** Why a process gives a run back. */
export type HandOverReason = 'draining' | 'store_unavailable';

/** How a process found that it had lost a run. */
export type FenceReason = 'write_refused' | 'lease_lost';

export interface ClaimOptions {
  /**
   * Whether an admission has just found the keys of the thread to have the right types, so that the claim does not check them. A claim
   * that fails is repeated without it.
   */
  readonly isChecked?: boolean;
  /** Writes the first commit of this run with the claim, if it is the thread's next one and begins as expected. One that is not admitted yet is admitted by the claim. */
  readonly first?: FirstCommit;
}

/** The first commit of a run that was offered right after its admission. */
export interface FirstCommit {
  readonly run: OfferedRun;
  /** Its request for a run that begins from this head; undefined when more has to be known for it. */
  readonly requestOn: (head: ThreadHead) => CommitRequest | undefined;
}

/**
 * The runner's view of the store. Every write is one fenced Lua script that compares owner, epoch, current run and
 * expected head before its first write.
 *
 * All methods throw FencedError when the caller is not (or no longer) the owner and UnavailableError when Redis does
 * not answer in time: the outcome is then unknown, and can be found by repeating `renew` or reading.
 */
export interface RunStore {
  /**
   * Claims the thread's `current` run, else the head of its inbox; cancels of queued runs are executed on the way. A run
   * whose owner's process is dead is taken over before its lease lapses.
   *
   * @param claimId unique per claim
   */
  claim(thread: ThreadKey, claimId: string, options?: ClaimOptions): Promise<ClaimResult>;
  /** Loads the head from which a forked run starts. @throws {NotFoundError} when the checkpoint does not exist any more. */
  loadCheckpoint(thread: ThreadKey, checkpointId: string): Promise<ThreadHead>;
  /**
   * Prolongs the lease; the reply has the cancel flag. This and every other write restores an expired lease as long as
   * the thread was not claimed since, because the clock of the store may have jumped.
   */
  renew(lease: RunLease): Promise<{ readonly cancel: CancelAction | null }>;
  /** Appends events to the run's log. */
  append(lease: RunLease, events: readonly RunEvent[], options?: AppendOptions): Promise<readonly NumberedEvent[]>;
  commit(lease: RunLease, request: CommitRequest): Promise<CommitResult>;
  /** Commits unless the run was cancelled, or messages or a change of the goal wait for it; undefined: nothing was written. */
  commitUnlessOvertaken(lease: RunLease, request: CommitRequest): Promise<CommitResult | undefined>;
  finish(lease: RunLease, request: FinishRequest): Promise<FinishResult>;
  /** Whether a budget of today is used up. */
  isBudgetSpent(payer: Pick<Payer, 'userId' | 'apiKey'>): Promise<boolean>;
  /** Releases the thread for another process: the run stays current and no attempt is counted. */
  handOver(lease: RunLease, reason?: HandOverReason): Promise<void>;
  /** Notes in the run's trace, if it has one, that this process has lost the run; the one write that needs no right to it. */
  noteFence(lease: RunLease, reason: FenceReason): Promise<void>;
  /**
   * Lists at most `limit` threads with pending runs and no live lease, oldest first.
   * @param from the rank to begin at; default 0
   */
  listUnowned(limit: number, from?: number): Promise<readonly UnownedThread[]>;
  /** Threads that processes of these ids own, at most `limit`: the runs of processes that died. */
  listOrphans(dead: readonly string[], limit: number): Promise<readonly UnownedThread[]>;
  /** Dead letters that are not copied to the bus yet, oldest first, at most `limit`. */
  listDeadLetters(limit: number): Promise<readonly DeadLetter[]>;
  /** Removes a copied dead letter from the list. Idempotent. */
  removeDeadLetter(letter: DeadLetter): Promise<void>;
  /** Resolves when the store takes writes. @throws {UnavailableError} with the reason */
  ping(): Promise<void>;
}

import { type NumberedEvent, type RunEvent, taskIds } from '@caribou/contracts';
import type { OfferedRun, ThreadKey } from '@caribou/core';
import type {
  AdmitRequest,
  CommitRequest,
  FinishRequest,
  NewTask,
  RunLease,
  RunStore,
  SlotLimits,
} from '@caribou/state';
import { CommittedCalls } from './committed-calls.js';
import type { Executed } from '../virtual/network.js';
import { OWNED } from '../virtual/sabotage.js';
import type { SimProcess } from '../virtual/scheduler.js';
import { RunningWatch } from './running-watch.js';
import { SlotWatch } from './slot-watch.js';

/**
 * The id of the claimed run.
 *
 * @param stored its record; without what the claimer knows for one that has begun with its claim, no record for one that was admitted by it
 * @param offered the run that the claimer was offered
 */
function claimedRunId(stored: unknown, offered: OfferedRun | undefined): string {
  const record: readonly unknown[] = Array.isArray(stored) ? stored : [];
  const named = record.indexOf('run_id');
  return named >= 0 ? String(record[named + 1]) : (offered?.runId ?? '');
}

type ClaimArgs = Parameters<RunStore['claim']>;

/** The records for the checker while a history ran, in the order in which the store executed it. */
export class History {
  readonly violations: string[] = [];
  /** Runs that the store accepted, in order; those of tasks too. */
  readonly accepted = new Map<string, Accepted>();
  readonly slots: SlotWatch;
  readonly modelCalls = new CommittedCalls();
  readonly running: RunningWatch;
  readonly ended = new Set<string>();
  /** Runs of which nothing has to remain. */
  readonly rolledBack = new Set<string>();
  /** Ids of the messages that were given to runs of a thread, in the order in which the store accepted them. */
  readonly given = new Map<string, string[]>();
  private readonly firstClaims = new Map<string, string[]>();
  private readonly epochs = new Map<string, number>();
  /** The id of the newest claim of each thread. */
  private readonly claimIds = new Map<string, unknown>();
  private readonly live = new Map<string, RunEvent>();
  takeovers = 0;
  /** The longest wait of a dead runner's runs for another one, while one existed. */
  longestWaitMs = 0;
  private runnersSinceMs = 0;
  private readonly owners = new Map<string, SimProcess>();

  /** @param nowMs the monotonic clock */
  constructor(
    { tasks, maxRunningPerUser }: { readonly tasks: SlotLimits; readonly maxRunningPerUser: number },
    private readonly nowMs: () => number,
  ) {
    this.slots = new SlotWatch(tasks);
    this.running = new RunningWatch(maxRunningPerUser);
  }

  /** From now on there is a runner. */
  runnersSince(): void {
    this.runnersSinceMs = this.nowMs();
  }

  /** A command was executed. */
  readonly executed = (done: Executed): void => {
    const { process, operation, args, reply } = done;
    if (!Array.isArray(reply)) return;
    const [outcome, ...rest] = reply as readonly unknown[];
    if (operation === 'threads.admit') this.recordAdmission(outcome, args[0] as AdmitRequest, rest);
    if (operation === 'threads.requestCancel' && outcome === 'ok') {
      if (args[2] === 'rollback') this.rolledBack.add(String(args[1]));
      this.recordEnded(rest[2]);
    }
    this.recordTaskChange(done, reply);
    if (operation === 'runs.claim' && outcome === 'run') this.recordClaimed(process, args as ClaimArgs, rest);
    if (OWNED.has(operation) && outcome === 'ok') this.recordWritten(operation, args as OwnedArgs);
  };

  private recordTaskChange(done: Executed, [outcome, , , ended]: readonly unknown[]): void {
    const { operation, args } = done;
    if (operation.startsWith('slots.')) this.slots.recordExecuted(done);
    if (operation === 'processes.renew') this.slots.recordRenewed(done);
    if (outcome !== 'ok') return;
    if (operation === 'tasks.dispatch') this.recordDispatched(args[0] as NewTask);
    if (operation === 'tasks.cancel') this.recordEnded(ended);
  }

  /** Records events that were sent to clients. */
  recordPublished(runId: string, events: readonly NumberedEvent[]): void {
    for (const { seq, event } of events) {
      const key = `${runId}/${seq}`;
      const known = this.live.get(key);
      if (known !== undefined && known !== event && canonical(known) !== canonical(event))
        this.violations.push(`event ${seq} of run ${runId} was published twice`);
      this.live.set(key, event);
    }
  }

  /** What was sent to clients as an event of the run; undefined for none. */
  findPublished(runId: string, seq: number): RunEvent | undefined {
    return this.live.get(`${runId}/${seq}`);
  }

  /** Runs of a thread in the order in which they were first claimed. */
  claimsOf(threadId: string): readonly string[] {
    return this.firstClaims.get(threadId) ?? [];
  }

  private recordAdmitted(request: AdmitArgs, [, cancelled, ended]: readonly unknown[]): void {
    const { userId, threadId } = request;
    this.accepted.set(request.runId, { userId, threadId });
    this.recordEnded(ended);
    if (request.multitaskStrategy !== 'rollback') return;
    for (const runId of cancelled as readonly string[]) this.rolledBack.add(runId);
    for (const pair of ended as readonly (readonly unknown[])[]) this.rolledBack.add(String(pair[0]));
  }

  private recordAdmission(outcome: unknown, request: AdmitRequest, rest: readonly unknown[]): void {
    if (outcome === 'ok') this.recordAdmitted(request, rest);
    if (outcome === 'steered') this.recordGiven(request);
  }

  /** Of a request that is repeated, the messages that were known before are not given again. */
  private recordGiven({ threadId, kwargs }: AdmitRequest): void {
    const known = this.given.get(threadId) ?? [];
    const ids = (kwargs.input?.messages ?? []).map(({ id }) => id).filter((id) => !known.includes(id));
    this.given.set(threadId, [...known, ...ids]);
  }

  private recordDispatched({ userId, spec: { parent } }: NewTask): void {
    const { runId, threadId } = taskIds(parent.run_id, parent.tool_call_id);
    this.accepted.set(runId, { userId, threadId, parentRunId: parent.run_id });
  }

  /** Queued runs that ended without an owner: pairs of id and the number of the last event. */
  private recordEnded(pairs: unknown): void {
    for (const pair of pairs as readonly (readonly unknown[])[]) {
      const runId = String(pair[0]);
      this.ended.add(runId);
      const task = this.accepted.get(runId);
      // A pool that never heard of its slot does not release it.
      if (task !== undefined) this.slots.recordEnded(task);
    }
  }

  /** A claim that is executed again under its id is the same claim, and has its epoch. */
  private recordClaimed(process: SimProcess, [thread, claimId, options]: ClaimArgs, reply: readonly unknown[]): void {
    const [epoch, flat] = reply;
    const { threadId } = thread;
    const runId = claimedRunId(flat, options?.first?.run);
    if (!Array.isArray(flat)) this.accepted.set(runId, thread);
    const before = this.epochs.get(threadId) ?? 0;
    if (Number(epoch) === before && claimId === this.claimIds.get(threadId)) return;
    this.claimIds.set(threadId, claimId);
    const claims = this.firstClaims.get(threadId) ?? [];
    if (claims.includes(runId)) this.recordTakeover(process, runId);
    else {
      claims.push(runId);
      if (process.role === 'runner') this.running.recordStarted(runId, thread);
    }
    this.owners.set(runId, process);
    this.firstClaims.set(threadId, claims);
    if (Number(epoch) <= before) this.violations.push(`thread ${threadId}: epoch ${String(epoch)} after ${before}`);
    this.epochs.set(threadId, Number(epoch));
  }

  private recordTakeover(process: SimProcess, runId: string): void {
    this.takeovers += 1;
    const { diedMs } = this.owners.get(runId) ?? {};
    if (process.role !== 'runner' || diedMs === undefined) return;
    this.longestWaitMs = Math.max(this.longestWaitMs, this.nowMs() - Math.max(diedMs, this.runnersSinceMs));
  }

  private recordWritten(operation: string, [lease, request]: OwnedArgs): void {
    const { threadId, epoch, runId } = lease;
    const newest = this.epochs.get(threadId);
    if (newest !== undefined && epoch !== newest)
      this.violations.push(`thread ${threadId}: ${operation} under epoch ${epoch} while ${newest} is the newest`);
    if (operation === 'runs.commit' || operation === 'runs.finish') this.modelCalls.record(operation, lease, request);
    if (operation === 'runs.finish') {
      if (this.ended.has(runId)) this.violations.push(`run ${runId} ended twice`);
      this.ended.add(runId);
      this.slots.recordEnded(lease);
      this.running.recordEnded(runId);
    }
  }
}

/** A run that has to end. */
export interface Accepted extends ThreadKey {
  /** The run that delegated it, for the run of a task. */
  readonly parentRunId?: string;
}

/** The arguments of an operation that only the owner of a run may do; those of a commit or finish have a request. */
type OwnedArgs = readonly [RunLease, CommitRequest | FinishRequest];

interface AdmitArgs {
  readonly runId: string;
  readonly userId: string;
  readonly threadId: string;
  readonly multitaskStrategy: string;
}

/** Equal for equal values, whatever the order of their fields. */
export const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );

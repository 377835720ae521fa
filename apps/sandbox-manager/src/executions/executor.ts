import { AppError, FencedError, RateLimitedError, UnavailableError } from '@caribou/contracts';
import {
  type Clock,
  type ExecutionEntry,
  type ExecutionJournal,
  type ExecutionState,
  type Logger,
  type SandboxRegistry,
  settledWithin,
  type ThreadKey,
} from '@caribou/core';
import { SandboxGoneError } from '@caribou/sandbox';
import type { ManagedSandbox } from './managed-sandbox.js';
import { endedBy, type Execution, ExecutionEnded } from './execution.js';
import { type FinishedExecutions, otherArguments } from './finished-executions.js';
import type { SandboxPool } from './sandbox-pool.js';

/**
 * Executes each key once.
 *
 *  E1  one key, one execution: an execution is in `running` from before the journal hears of it until the journal has
 *      its result, so "started by this manager and not in `running`" means that it never began
 *  E2  nothing begins unless the journal has just answered `new` for this manager's binding and the caller's epoch,
 *      and this manager's own lease holds by its own clock
 *  E3  the result is journalled before anybody is told; while the journal is away this waits, and nothing new begins
 *  E4  whoever asks with the same key and arguments gets the one result; with other arguments, an error
 *  E5  an execution ends by itself, by its time-out, by a cancel with the thread's current epoch, or with this manager;
 *      a caller that stops waiting ends nothing
 *  E6  what a manager that is gone had started is *unknown*, after what still ran of it has been ended
 *  E7  commands of one thread run one at a time, in the order they came
 *  E8  what this manager has executed it does not execute again, whatever the journal has lost
 */

export interface ExecutorOptions {
  readonly journal: ExecutionJournal;
  readonly registry: SandboxRegistry;
  readonly pool: SandboxPool;
  /** What this process has executed (E8). */
  readonly finished: Pick<FinishedExecutions, 'add' | 'find'>;
  readonly lease: { readonly managerId: string; isHeld(): boolean };
  readonly clock: Clock;
  readonly logger: Logger;
  /** Executions of all threads that may run or wait at once. */
  readonly maxRunning: number;
}

interface Running {
  readonly thread: ThreadKey;
  readonly argsHash: string;
  readonly controller: AbortController;
  readonly reply: Promise<unknown>;
}

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 2000;
/** Time for ended executions to be journalled when this process stops. */
const JOURNAL_FLUSH_MS = 5000;
const LOST_WITH_MANAGER = 'the sandbox-manager that ran this stopped before it could report; it may have had effects';
const ENDED_BY_MANAGER =
  'this was ended because its sandbox-manager stopped or lost the sandbox; it may have had effects';

const runningKey = ({ userId, threadId }: ThreadKey, key: string): string => `${userId}/${threadId}/${key}`;

export class Executor {
  private readonly running = new Map<string, Running>();
  private draining = false;

  constructor(private readonly options: ExecutorOptions) {}

  /**
   * The reply of the one execution under the key (E1, E4).
   *
   * @throws {ConflictError} when the key was used with other arguments
   * @throws {FencedError} when the epoch is not the thread's current one, or the binding names another manager
   * @throws {NotFoundError} when this manager does not hold the sandbox
   * @throws {UnavailableError} when it did not begin; asking again is safe
   */
  async execute<Reply>(job: Execution<Reply>): Promise<Reply> {
    const key = runningKey(job.thread, job.key);
    const present = this.running.get(key);
    if (present !== undefined) return this.attach(job, present);
    const sandbox = this.options.pool.held(job.thread, job.sandboxId);
    this.assertAccepting();
    if (this.running.size >= this.options.maxRunning) {
      throw new RateLimitedError('too many executions at once', { details: { retryAfterMs: 1000 } });
    }
    const controller = new AbortController();
    const reply = this.options.pool
      .using(sandbox, () => this.perform(job, sandbox, controller.signal))
      .finally(() => this.running.delete(key));
    this.running.set(key, { thread: job.thread, argsHash: job.argsHash, controller, reply });
    return reply;
  }

  private async attach<Reply>(job: Execution<Reply>, present: Running): Promise<Reply> {
    if (present.argsHash !== job.argsHash) throw otherArguments(job.key);
    await this.requireEpoch(job.thread, job.epoch);
    return job.parse(await present.reply);
  }

  /** @throws {UnavailableError} when this manager is about to stop */
  assertAccepting(): void {
    // Callers wait for a manager they cannot reach and ask again, so this says no more than that.
    if (this.draining)
      throw new UnavailableError('this sandbox-manager is stopping', { details: { dependency: 'sandbox-manager' } });
  }

  /** @throws {FencedError} unless `epoch` is that of the thread's live lease */
  async requireEpoch(thread: ThreadKey, epoch: number): Promise<void> {
    if ((await this.options.registry.currentEpoch(thread)) === epoch) return;
    throw new FencedError('the epoch is not the current one of the thread', { details: { threadId: thread.threadId } });
  }

  /**
   * Ends an execution (E5); false when none of that key runs here. @throws {FencedError} for another epoch than the
   * current
   */
  async cancel(thread: ThreadKey, epoch: number, key: string): Promise<boolean> {
    await this.requireEpoch(thread, epoch);
    const present = this.running.get(runningKey(thread, key));
    present?.controller.abort(new ExecutionEnded('cancel'));
    return present !== undefined;
  }

  /** Ends everything of threads that another manager has taken over. */
  endThreads(threads: readonly ThreadKey[]): void {
    const lost = new Set(threads.map((thread) => runningKey(thread, '')));
    for (const { thread, controller } of this.running.values()) {
      if (lost.has(runningKey(thread, ''))) controller.abort(new ExecutionEnded('loss'));
    }
  }

  /** Ends everything, as this manager's lease has run out: another may take the sandboxes over. */
  endAll(): void {
    for (const { controller } of this.running.values()) controller.abort(new ExecutionEnded('loss'));
  }

  /**
   * Takes nothing more, lets what runs go on for `graceMs`, then ends it; resolves when all results are journalled, or
   * 5 s after that.
   */
  async drain(graceMs: number): Promise<void> {
    this.draining = true;
    const settled = Promise.allSettled([...this.running.values()].map(({ reply }) => reply));
    if (await settledWithin(settled, graceMs, this.options.clock)) return;
    for (const { controller } of this.running.values()) controller.abort(new ExecutionEnded('shutdown'));
    await settledWithin(settled, JOURNAL_FLUSH_MS, this.options.clock);
  }

  private async perform<Reply>(job: Execution<Reply>, sandbox: ManagedSandbox, signal: AbortSignal): Promise<Reply> {
    const { pool, journal } = this.options;
    if (job.kind === 'write') return this.begin(job, sandbox, signal).then((done) => this.keep(job, done));
    await pool.ready(sandbox);
    if (sandbox.lane.busy) {
      const known = await this.knownReply(job, await journal.peek(job.thread, this.entry(job)));
      if (known !== undefined) return known.reply;
    }
    return this.keep(job, await sandbox.lane.run(() => this.begin(job, sandbox, signal)));
  }

  /** (E2) What the journal already knows of the key, or the outcome of running it now. */
  private async begin<Reply>(
    job: Execution<Reply>,
    sandbox: ManagedSandbox,
    signal: AbortSignal,
  ): Promise<Outcome<Reply>> {
    const { journal, lease } = this.options;
    this.assertAccepting();
    if (signal.aborted && endedBy(signal) !== 'cancel') throw leaseLost();
    const known = await this.knownReply(job, await journal.start(job.thread, this.entry(job)));
    if (known !== undefined) return { reply: known.reply, kept: true };
    const executed = this.options.finished.find(job);
    if (executed !== undefined) return { ...executed, kept: false };
    if (!lease.isHeld()) throw leaseLost();
    const reply = await this.run(job, sandbox, signal);
    this.options.finished.add(job, reply);
    return { reply, kept: false };
  }

  /** (E1, E6, E8) The reply that is known already; undefined when the execution may begin. */
  private async knownReply<Reply>(
    job: Execution<Reply>,
    state: ExecutionState,
  ): Promise<{ readonly reply: Reply } | undefined> {
    const by = this.options.lease.managerId;
    if (state.state === 'new' || (state.state === 'running' && state.managerId === by)) return undefined;
    if (state.state === 'mismatch') throw otherArguments(job.key);
    if (state.state === 'done') return { reply: job.parse(state.result) };
    const executed = this.options.finished.find(job)?.reply ?? job.unknown(LOST_WITH_MANAGER);
    const lost = { startedBy: state.managerId, by, result: executed };
    const { result } = await this.options.journal.markUnknown(job.thread, job.key, lost);
    return { reply: job.parse(result) };
  }

  /** Runs the job; whatever goes wrong once it may have begun is an unknown outcome, not an error to be tried again. */
  private async run<Reply>(job: Execution<Reply>, sandbox: ManagedSandbox, signal: AbortSignal): Promise<Reply> {
    const { clock, logger } = this.options;
    const { userId, threadId } = job.thread;
    const fields = { event: `${job.kind}.end`, userId, threadId, sandboxId: job.sandboxId };
    const beganMs = clock.monotonicMs();
    try {
      const reply = await this.runWhenReady(job, sandbox, signal);
      const outcome = signal.aborted ? 'cancelled' : 'ok';
      logger.info({ ...fields, outcome, durationMs: clock.monotonicMs() - beganMs }, 'execution ended');
      return signal.aborted && endedBy(signal) !== 'cancel' ? job.unknown(ENDED_BY_MANAGER) : reply;
    } catch (error) {
      if (error instanceof SandboxGoneError) throw error;
      logger.error({ ...fields, outcome: 'error', error }, 'an execution failed');
      return job.unknown(
        error instanceof AppError && error.expected ? error.message : 'the sandbox failed while this ran',
      );
    }
  }

  /** A sandbox that went away is made again once: nothing had begun in it. */
  private async runWhenReady<Reply>(
    job: Execution<Reply>,
    sandbox: ManagedSandbox,
    signal: AbortSignal,
  ): Promise<Reply> {
    const seen = sandbox.ready;
    try {
      return await job.run(sandbox, signal);
    } catch (error) {
      if (!(error instanceof SandboxGoneError)) throw error;
    }
    await this.replace(sandbox, seen);
    return job.run(sandbox, signal);
  }

  /** @throws {SandboxGoneError} when the sandbox cannot be made again */
  private async replace(sandbox: ManagedSandbox, seen: ManagedSandbox['ready']): Promise<void> {
    try {
      await this.options.pool.replace(sandbox, seen);
    } catch (error) {
      if (error instanceof UnavailableError)
        throw new SandboxGoneError(error.message, { cause: error, details: error.details });
      throw error;
    }
  }

  /**
   * (E3) Journals a new reply, for as long as that takes. @throws {FencedError} when the outcome has been declared
   * unknown
   */
  private async keep<Reply>(job: Execution<Reply>, { reply, kept }: Outcome<Reply>): Promise<Reply> {
    const { journal, lease, clock } = this.options;
    for (let delayMs = FIRST_RETRY_MS; !kept; delayMs = Math.min(2 * delayMs, LONGEST_RETRY_MS)) {
      try {
        await journal.finish(job.thread, job.key, { managerId: lease.managerId, result: reply });
        return reply;
      } catch (error) {
        if (error instanceof FencedError && (await this.isForgotten(job))) continue;
        if (!(error instanceof UnavailableError)) throw error;
        await clock.sleep(delayMs);
      }
    }
    return reply;
  }

  /** (E8) Whether the journal had lost the execution; it is entered again. */
  private async isForgotten(job: Execution<unknown>): Promise<boolean> {
    return (await this.options.journal.start(job.thread, this.entry(job))).state === 'new';
  }

  private entry({ key, argsHash, kind, epoch, sandboxId }: Execution<unknown>): ExecutionEntry {
    return { key, argsHash, kind, epoch, managerId: this.options.lease.managerId, sandboxId };
  }
}

interface Outcome<Reply> {
  readonly reply: Reply;
  /** True when the journal has it already. */
  readonly kept: boolean;
}

const leaseLost = (): UnavailableError =>
  new UnavailableError('the lease of this sandbox-manager has run out', { details: { dependency: 'redis' } });

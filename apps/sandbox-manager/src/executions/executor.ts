import { FencedError, RateLimitedError, UnavailableError } from '@caribou/contracts';
import { type Logger, type SandboxRegistry, settlesWithin, type ThreadKey } from '@caribou/core';
import { SandboxGoneError } from '@caribou/sandbox';
import type { ManagedSandbox } from './managed-sandbox.js';
import { endReasonOf, type Execution, ExecutionEnded } from './execution.js';
import { ExecutionReplies, type ExecutionRepliesOptions } from './execution-replies.js';
import { createArgumentsConflict } from './finished-executions.js';
import { runWhenReady } from './run-when-ready.js';
import { ThreadHandover } from './thread-handover.js';
import { failureReason, unknownReason } from './unknown-reason.js';
import type { ThreadFileSync } from '../files/thread-file-sync.js';
import type { SandboxPool } from './sandbox-pool.js';

/**
 * Executes each key once.
 *
 *  E1  One key, one execution: an execution is in `running` from before it is entered in the journal until the journal
 *      has its result. An entry of this manager that is not in `running` therefore means that nothing was executed.
 *  E2  An execution begins only after the journal has answered `new` for this manager's binding and the caller's epoch,
 *      and while this manager's lease is valid by its own clock.
 *  E3  The result is in the journal before any caller receives it. While the journal is unreachable, callers wait and
 *      no new execution begins.
 *  E4  Callers with the same key and arguments get the same result; with other arguments, they get an error.
 *  E5  An execution ends by itself, by its time-out, by a cancel with the thread's current epoch, at the end of this manager's drain, or by
 *      an administrator who ends the sandbox. A caller that stops waiting ends nothing.
 *  E6  The outcome of what a dead manager had started is *unknown*; its remaining processes are ended first.
 *  E7  Commands of one thread run one at a time, in the order of their requests.
 *  E8  What this manager has executed is not executed again, even when the journal has lost its entry.
 *  E9  Files that changed elsewhere are here before an execution begins, and what it changed is stored, or noted as not stored yet,
 *      before its result is in the journal.
 *  E10 While this manager drains, what runs ends here, writes for a thread with a running command are still done, and every other
 *      request waits until its thread is given back (thread-handover.ts).
 */

export interface ExecutorOptions extends ExecutionRepliesOptions {
  readonly registry: SandboxRegistry;
  readonly pool: SandboxPool;
  readonly files: ThreadFileSync;
  readonly lease: { readonly managerId: string; isHeld(): boolean };
  readonly logger: Logger;
  /** Executions of all threads that may run or wait at once. */
  readonly maxRunning: number;
}

interface Running {
  readonly thread: ThreadKey;
  readonly key: string;
  readonly argsHash: string;
  readonly controller: AbortController;
  /** When it was requested, by the wall clock. */
  readonly sinceMs: number;
  readonly reply: Promise<unknown>;
}

/** Time to write the results of ended executions to the journal when this process stops. */
const JOURNAL_FLUSH_MS = 5000;
/** Time for commands to end before their sandbox is removed by force. */
const END_WITHIN_MS = 10_000;

const runningKey = ({ userId, threadId }: ThreadKey, key: string): string => `${userId}/${threadId}/${key}`;

export class Executor {
  private readonly running = new Map<string, Running>();
  /** Signals of commands that may have started something in their sandbox. */
  private readonly begun = new WeakSet<AbortSignal>();
  private draining = false;
  private readonly replies: ExecutionReplies;
  private readonly handover: ThreadHandover;

  constructor(private readonly options: ExecutorOptions) {
    this.replies = new ExecutionReplies(options);
    const { pool, registry, clock, logger } = options;
    const { managerId } = options.lease;
    const isBusy = (thread: ThreadKey): boolean => this.executionsOf(thread).length > 0;
    this.handover = new ThreadHandover({ managerId, pool, registry, clock, logger, isBusy });
  }

  /** How many executions run or wait. */
  get size(): number {
    return this.running.size;
  }

  /**
   * The reply of the one execution under the key (E1, E4).
   *
   * @throws {ConflictError} when the key was used with other arguments
   * @throws {FencedError} when the epoch is not the thread's current one, or the binding names another manager
   * @throws {NotFoundError} when this manager does not hold the sandbox, or has given it back
   * @throws {UnavailableError} when the execution did not begin; the caller may repeat the request
   */
  async execute<Reply>(job: Execution<Reply>): Promise<Reply> {
    const key = runningKey(job.thread, job.key);
    const present = this.running.get(key);
    if (present !== undefined) return this.attach(job, present);
    if (!this.serves(job.thread, job.kind)) return this.handover.refuse(job.thread);
    const sandbox = this.options.pool.requireHeld(job.thread, job.sandboxId);
    this.assertHeld();
    if (this.running.size >= this.options.maxRunning) {
      throw new RateLimitedError('too many executions at once', { details: { retryAfterMs: 1000 } });
    }
    const controller = new AbortController();
    const reply = this.options.pool
      .use(sandbox, () => this.perform(job, sandbox, controller.signal))
      .finally(() => {
        this.running.delete(key);
        if (this.draining) this.handover.noteEnded(job.thread);
      });
    const { thread, argsHash } = job;
    this.running.set(key, { thread, key: job.key, argsHash, sinceMs: this.options.clock.now(), controller, reply });
    return reply;
  }

  private async attach<Reply>(job: Execution<Reply>, present: Running): Promise<Reply> {
    if (present.argsHash !== job.argsHash) throw createArgumentsConflict(job.key);
    await this.requireEpoch(job.thread, job.epoch);
    return job.parse(await present.reply);
  }

  /**
   * (E10) Returns when a read is served here.
   *
   * @throws {NotFoundError} when this manager is stopping and has given the thread back; the caller turns to the next manager
   * @throws {UnavailableError} when it is not given back yet; the caller may repeat the request
   */
  async requireServed(thread: ThreadKey): Promise<void> {
    if (!this.serves(thread, 'read')) await this.handover.refuse(thread);
  }

  /** (E10) */
  private serves(thread: ThreadKey, kind: Execution<unknown>['kind'] | 'read'): boolean {
    return !this.draining || (kind !== 'exec' && this.executionsOf(thread).length > 0);
  }

  /** @throws {UnavailableError} when this manager is stopping, or has no lease */
  assertAccepting(): void {
    this.assertHeld();
    // Callers repeat their request when a manager is unreachable, which is the right reaction to a stop, too.
    if (this.draining)
      throw new UnavailableError('this sandbox-manager is stopping', { details: { dependency: 'sandbox-manager' } });
  }

  /** @throws {UnavailableError} while this manager has no lease: another one may hold its sandboxes */
  assertHeld(): void {
    if (!this.options.lease.isHeld()) throw createLeaseLostError();
  }

  /** @throws {FencedError} unless `epoch` is the one of the thread's current lease */
  async requireEpoch(thread: ThreadKey, epoch: number): Promise<void> {
    if ((await this.options.registry.currentEpoch(thread)) === epoch) return;
    throw new FencedError('the epoch is not the current one of the thread', { details: { threadId: thread.threadId } });
  }

  /**
   * Ends an execution (E5). Returns false when this manager runs none with that key.
   *
   * @throws {FencedError} unless `epoch` is the thread's current one
   */
  async cancel(thread: ThreadKey, epoch: number, key: string): Promise<boolean> {
    await this.requireEpoch(thread, epoch);
    const present = this.running.get(runningKey(thread, key));
    present?.controller.abort(new ExecutionEnded('cancel'));
    return present !== undefined;
  }

  /** Ends all executions of threads that another manager has taken over. */
  endThreads(threads: readonly ThreadKey[]): void {
    const lost = new Set(threads.map((thread) => runningKey(thread, '')));
    for (const { thread, controller } of this.running.values()) {
      if (lost.has(runningKey(thread, ''))) controller.abort(new ExecutionEnded('loss'));
    }
  }

  /** The executions of a thread that run or wait. */
  executionsOf({ userId, threadId }: ThreadKey): readonly { readonly key: string; readonly sinceMs: number }[] {
    return [...this.running.values()]
      .filter(({ thread }) => thread.userId === userId && thread.threadId === threadId)
      .map(({ key, sinceMs }) => ({ key, sinceMs }));
  }

  /**
   * Ends the thread's sandbox for an administrator, with the commands that have begun in it (E5): their outcome is unknown, unless they
   * had ended before. Those that wait begin in a fresh sandbox. Returns how many were ended.
   *
   * @throws {UnavailableError} while this manager has no lease, and when the driver has failed to remove the sandbox
   */
  async endSandbox(sandbox: ManagedSandbox): Promise<number> {
    this.assertHeld();
    const { userId, threadId } = sandbox.spec;
    const begun = [...this.running.values()].filter(
      ({ thread, controller }) =>
        thread.userId === userId && thread.threadId === threadId && this.begun.has(controller.signal),
    );
    await this.options.pool.end(sandbox, () => {
      for (const { controller } of begun) controller.abort(new ExecutionEnded('administrator'));
      return settlesWithin(Promise.allSettled(begun.map(({ reply }) => reply)), END_WITHIN_MS, this.options.clock);
    });
    return begun.length;
  }

  /** Ends all executions because this manager's lease has expired: another manager may take the sandboxes over. */
  endAll(): void {
    for (const { controller } of this.running.values()) controller.abort(new ExecutionEnded('loss'));
  }

  /**
   * Accepts no more threads, gives back those that are idle, and the others when their executions have ended (E10). Executions that still run
   * after `graceMs` are ended. Resolves when all results are in the journal and all threads are given back, at the latest 5 s after that.
   */
  async drain(graceMs: number): Promise<void> {
    const { pool, clock } = this.options;
    this.draining = true;
    const given = this.handover.giveAllBack(pool.threads());
    const settled = Promise.allSettled([...this.running.values()].map(({ reply }) => reply));
    if (!(await settlesWithin(Promise.all([settled, given]), graceMs, clock))) {
      for (const { controller } of this.running.values()) controller.abort(new ExecutionEnded('shutdown'));
      await settlesWithin(Promise.all([settled, given]), JOURNAL_FLUSH_MS, clock);
    }
    this.handover.stop();
  }

  private async perform<Reply>(job: Execution<Reply>, sandbox: ManagedSandbox, signal: AbortSignal): Promise<Reply> {
    const { pool } = this.options;
    if (job.kind === 'write') return this.storeReply(job, await this.begin(job, sandbox, signal));
    await pool.ensureReady(sandbox);
    if (sandbox.lane.busy) {
      const known = await this.replies.peek(job);
      if (known !== undefined) return known.reply;
    }
    return this.storeReply(job, await sandbox.lane.run(() => this.begin(job, sandbox, signal)));
  }

  private async storeReply<Reply>(job: Execution<Reply>, { reply, stored }: Outcome<Reply>): Promise<Reply> {
    return stored ? reply : this.replies.store(job, reply);
  }

  /** (E2) The reply that the journal already has for the key, or the outcome of executing it now. */
  private async begin<Reply>(
    job: Execution<Reply>,
    sandbox: ManagedSandbox,
    signal: AbortSignal,
  ): Promise<Outcome<Reply>> {
    if (job.kind === 'exec') this.assertAccepting();
    else this.assertHeld();
    await this.options.files.refresh(job.thread);
    if (signal.aborted && endReasonOf(signal) !== 'cancel') throw createLeaseLostError();
    const known = await this.replies.start(job);
    if (known !== undefined) return { reply: known.reply, stored: true };
    const executed = this.options.finished.find(job);
    if (executed !== undefined) return { ...executed, stored: false };
    await this.enterSandbox(job, sandbox, signal);
    const reply = await this.run(job, sandbox, signal);
    this.options.finished.add(job, reply);
    return { reply, stored: false };
  }

  /** Resolves when the job may begin in the sandbox: while an administrator ends it, in the fresh one after it. */
  private async enterSandbox(job: Execution<unknown>, sandbox: ManagedSandbox, signal: AbortSignal): Promise<void> {
    while (job.kind === 'exec' && sandbox.ending !== undefined) {
      // Why it failed is said to the administrator.
      await sandbox.ending.catch(() => undefined);
      await this.options.pool.ensureReady(sandbox);
    }
    this.assertHeld();
    if (job.kind === 'exec') this.begun.add(signal);
  }

  /** Runs the job. An error after it may have begun makes its outcome unknown, so that no caller repeats it. */
  private async run<Reply>(job: Execution<Reply>, sandbox: ManagedSandbox, signal: AbortSignal): Promise<Reply> {
    const { clock, logger } = this.options;
    const { userId, threadId } = job.thread;
    const fields = { event: `${job.kind}.end`, userId, threadId, sandboxId: job.sandboxId };
    const beganMs = clock.monotonicMs();
    try {
      const reply = await runWhenReady(job, { pool: this.options.pool, sandbox, signal });
      const isCut = signal.aborted;
      await this.options.files.publish(job.thread, job.paths);
      const outcome = signal.aborted ? 'cancelled' : 'ok';
      logger.info({ ...fields, outcome, durationMs: clock.monotonicMs() - beganMs }, 'execution ended');
      const reason = unknownReason(signal, isCut);
      return reason === undefined ? reply : job.unknown(reason);
    } catch (error) {
      if (error instanceof SandboxGoneError) throw error;
      logger.error({ ...fields, outcome: 'error', error }, 'an execution failed');
      return job.unknown(unknownReason(signal, signal.aborted) ?? failureReason(error));
    }
  }
}

interface Outcome<Reply> {
  readonly reply: Reply;
  /** True when the journal already has it. */
  readonly stored: boolean;
}

export const createLeaseLostError = (): UnavailableError =>
  new UnavailableError('the lease of this sandbox-manager has run out', { details: { dependency: 'redis' } });

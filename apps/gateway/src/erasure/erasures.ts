import { ConflictError, NotFoundError, UnavailableError } from '@caribou/contracts';
import { type Logger, type MemoryStore, RepeatedTask, settlesWithin, systemClock, type ThreadKey } from '@caribou/core';
import {
  type ApiKeyStore,
  BeingErasedError,
  type CronStore,
  type DeadLetterStore,
  type Erasure,
  type ErasureStore,
  type OutboxStore,
  type TaskStore,
  type ThreadStore,
  type UsageLedger,
} from '@caribou/state';
import type { ErasedFiles } from '@caribou/files';

export interface ErasurePorts {
  readonly store: ErasureStore;
  readonly files: ErasedFiles;
  readonly threads: Pick<ThreadStore, 'deleteThread'>;
  readonly tasks: Pick<TaskStore, 'forgetTasksOf'>;
  readonly memories: Pick<MemoryStore, 'eraseUser'>;
  readonly usage: Pick<UsageLedger, 'eraseUser'>;
  readonly crons: Pick<CronStore, 'removeAll'>;
  readonly outbox: Pick<OutboxStore, 'removeAll'>;
  readonly deadLetters: Pick<DeadLetterStore, 'removeAll'>;
  readonly apiKeys: Pick<ApiKeyStore, 'eraseUser'>;
  readonly logger: Logger;
  /** Checks that this process uses the shared volume. @throws {UnavailableError} when it does not */
  readonly ensureVolume: () => Promise<void>;
  /** Interval between two sweeps for unfinished deletions, in milliseconds. */
  readonly sweepMs: number;
}

/** Lifetime of markers: longer than a process can be paused between reading a deletion and moving its files. */
const MARKER_MS = 3_600_000;
/** Deletions that one sweep handles. */
const LIMIT = 100;
/** Time that a stopping gateway waits for the current sweep. */
const STOP_MS = 5_000;

/**
 * Finishes deletions. Each deletion is recorded in the store in the same script that removes the records of the thread or
 * user. Any gateway can then do the remaining steps, repeatedly and concurrently with others: delete the thread's tasks,
 * move its files aside, release its id, remove the files, and remove their marker.
 */
export class Erasures {
  private readonly sweeps: RepeatedTask;

  constructor(private readonly ports: ErasurePorts) {
    this.sweeps = new RepeatedTask({
      clock: systemClock,
      everyMs: ports.sweepMs,
      work: (signal) => this.sweep(signal),
      onFailure: (error) => this.logFailure(error),
    });
  }

  /** Begins the first sweep now, and repeats it every `sweepMs` until `stop`. */
  start(): void {
    this.sweeps.start();
  }

  async stop(): Promise<void> {
    await settlesWithin(this.sweeps.stop(), STOP_MS, systemClock);
  }

  /**
   * Finishes an interrupted deletion of the thread, if there is one.
   *
   * @throws {BeingErasedError} while its user is erased
   */
  async settle(thread: ThreadKey): Promise<void> {
    const erasure = await this.ports.store.findPending(thread);
    if (erasure === null) return;
    if (erasure.threadId === undefined) throw new BeingErasedError('this user is being erased: try again later');
    await this.finishThread(erasure, thread);
  }

  /** Deletes a thread. Its files are inaccessible when this resolves, and are removed soon after. */
  async deleteThread(thread: ThreadKey): Promise<void> {
    try {
      await this.ports.threads.deleteThread(thread);
    } finally {
      await this.settle(thread);
    }
  }

  /**
   * Erases everything of a user except audit lines. The next sweep of any gateway resumes an interrupted erasure.
   *
   * @param administrator user id of the signed-in administrator who requested it
   * @throws {ConflictError} while the user has runs in flight; nothing is erased then
   * @throws {ForbiddenError} when the administrator does not exist or is being erased; nothing is erased then
   */
  async eraseUser(userId: string, administrator?: string): Promise<void> {
    await this.finishUser(await this.ports.store.beginUser(userId, administrator));
  }

  /** Finishes interrupted deletions and removes files that were moved aside. */
  private async sweep(signal: AbortSignal): Promise<void> {
    const { store, ensureVolume } = this.ports;
    await ensureVolume();
    const logFailure = (error: unknown): void => this.logFailure(error);
    for (const erasure of await store.listPending(LIMIT)) await this.finish(erasure).catch(logFailure);
    for (const aside of await store.listDue(LIMIT)) {
      if (signal.aborted) return;
      await this.remove(aside, signal).catch(logFailure);
    }
  }

  private async remove(aside: string, signal: AbortSignal): Promise<void> {
    const { store, files } = this.ports;
    if (!(await files.empty(aside, signal))) return;
    if (await files.drop(aside, MARKER_MS)) await store.remove(aside);
    else await store.markEmptied(aside, MARKER_MS);
  }

  private finish(erasure: Erasure): Promise<void> {
    const { userId, threadId } = erasure;
    return threadId === undefined ? this.finishUser(erasure) : this.finishThread(erasure, { userId, threadId });
  }

  private async finishThread(erasure: Erasure, thread: ThreadKey): Promise<void> {
    const { store, files, tasks } = this.ports;
    await this.ports.ensureVolume();
    await tasks.forgetTasksOf(thread);
    await store.markMoved(erasure, await files.moveThread(thread, erasure.token));
  }

  private async finishUser(erasure: Erasure): Promise<void> {
    const { store, files, threads, tasks, memories, usage, crons, outbox, deadLetters } = this.ports;
    const { userId, token } = erasure;
    await this.ports.ensureVolume();
    await store.closeAccount(userId);
    await this.ports.apiKeys.eraseUser(userId);
    await crons.removeAll(userId);
    for (const threadId of await store.threadsOf(userId)) {
      const thread = { userId, threadId };
      await ignoreNotFound(threads.deleteThread(thread, { withIdempotency: true }));
      await tasks.forgetTasksOf(thread);
    }
    await memories.eraseUser(userId);
    await usage.eraseUser(userId);
    await outbox.removeAll(userId);
    await deadLetters.removeAll(userId);
    const aside = await files.moveUser(userId, token);
    for await (const threadIds of files.threadsIn(aside)) await store.forgetUploads(userId, threadIds);
    await store.forgetUser(userId);
    await store.markMoved(erasure, aside);
  }

  /** One failed deletion does not hold up the others; the next sweep repeats it. */
  private logFailure(error: unknown): void {
    const level = error instanceof UnavailableError || error instanceof ConflictError ? 'warn' : 'error';
    this.ports.logger[level]({ event: 'erasure', outcome: 'error', error }, 'a deletion was not carried to its end');
  }
}

async function ignoreNotFound(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
  }
}

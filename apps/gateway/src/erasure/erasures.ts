import { setTimeout as delay } from 'node:timers/promises';
import { ConflictError, NotFoundError, UnavailableError } from '@caribou/contracts';
import {
  BeingErasedError,
  type Erasure,
  type ErasureStore,
  type Logger,
  type MemoryStore,
  type TaskStore,
  type ThreadKey,
  type ThreadStore,
} from '@caribou/core';
import type { ErasedFiles } from '@caribou/files';

export interface ErasurePorts {
  readonly store: ErasureStore;
  readonly files: ErasedFiles;
  readonly threads: Pick<ThreadStore, 'deleteThread'>;
  readonly tasks: Pick<TaskStore, 'forgetTasksOf'>;
  readonly memories: Pick<MemoryStore, 'eraseUser'>;
  readonly logger: Logger;
  /** Makes sure that files lie on the volume that everybody uses. @throws {UnavailableError} where they do not */
  readonly ensureVolume: () => Promise<void>;
  /** Time between two looks for what others left, in milliseconds. */
  readonly sweepMs: number;
}

/** Longer than any process can be paused between looking at a deletion and moving its files. */
const MARKER_MS = 3_600_000;
/** Of one look. */
const LIMIT = 100;
/** Longest wait of a stopping gateway for a removal that is under way. */
const STOP_MS = 5_000;

/**
 * Carries deletions to their end. What is deleted is entered in the store in the same step in which its records go; from
 * there each step can be done by any gateway, again and at the same time as by another one: tasks of the thread, its files
 * moved aside, its id free again, the files removed, their marker dropped.
 */
export class Erasures {
  private readonly stopping = new AbortController();
  private loop: Promise<void> = Promise.resolve();

  constructor(private readonly ports: ErasurePorts) {}

  /** Looks now and then again and again, until `stop`. */
  start(): void {
    this.loop = this.sweepUntilStopped();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.race([this.loop, delay(STOP_MS, undefined, { ref: false })]);
  }

  /** Moves the files of a deleted thread aside before they are seen. @throws {BeingErasedError} while its user is erased */
  async settle(thread: ThreadKey): Promise<void> {
    const erasure = await this.ports.store.findPending(thread);
    if (erasure === null) return;
    if (erasure.threadId === undefined) throw new BeingErasedError('this user is being erased: try again later');
    await this.finishThread(erasure, thread);
  }

  /** Deletes a thread; its files are out of sight when this resolves, and removed soon after. */
  async deleteThread(thread: ThreadKey): Promise<void> {
    try {
      await this.ports.threads.deleteThread(thread);
    } finally {
      await this.settle(thread);
    }
  }

  /**
   * Erases everything of a user but lines of the audit. What a death interrupts is taken up by the next look of a gateway.
   *
   * @param administrator who asks, if it is a person with the right of an account
   * @throws {ConflictError} while runs of his are in flight: nothing is erased
   * @throws {ForbiddenError} when the administrator is gone or being erased: nothing is erased
   */
  async eraseUser(userId: string, administrator?: string): Promise<void> {
    await this.finishUser(await this.ports.store.beginUser(userId, administrator));
  }

  /** One look at what waits. */
  async sweep(): Promise<void> {
    const { store, files } = this.ports;
    await this.ports.ensureVolume();
    for (const erasure of await store.listPending(LIMIT)) await this.logErrors(() => this.finish(erasure));
    for (const aside of await store.listDue(LIMIT)) {
      if (this.stopping.signal.aborted) return;
      await this.logErrors(async () => {
        if (!(await files.empty(aside, this.stopping.signal))) return;
        if (await files.drop(aside, MARKER_MS)) await store.remove(aside);
        else await store.markEmptied(aside, MARKER_MS);
      });
    }
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
    const { store, files, threads, tasks, memories } = this.ports;
    const { userId, token } = erasure;
    await this.ports.ensureVolume();
    await store.closeAccount(userId);
    for (const threadId of await store.threadsOf(userId)) {
      const thread = { userId, threadId };
      await ignoreNotFound(threads.deleteThread(thread, { withIdempotency: true }));
      await tasks.forgetTasksOf(thread);
    }
    await memories.eraseUser(userId);
    const aside = await files.moveUser(userId, token);
    for await (const threadIds of files.threadsIn(aside)) await store.forgetUploads(userId, threadIds);
    await store.forgetUser(userId);
    await store.markMoved(erasure, aside);
  }

  private async sweepUntilStopped(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await this.logErrors(() => this.sweep());
      await delay(this.ports.sweepMs, undefined, { signal, ref: false }).catch((reason: unknown) => {
        if (!signal.aborted) throw reason;
      });
    }
  }

  /** The wall of the loop: one that fails is tried again by the next look, and keeps none of the others back. */
  private async logErrors(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const level = error instanceof UnavailableError || error instanceof ConflictError ? 'warn' : 'error';
      this.ports.logger[level]({ event: 'erasure', outcome: 'error', error }, 'a deletion was not carried to its end');
    }
  }
}

async function ignoreNotFound(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
  }
}

import { AppError } from '@caribou/contracts';
import { type Clock, type FileGenerations, type Logger, RepeatedTask, type ThreadKey } from '@caribou/core';
import type { ThreadFileSync } from './thread-file-sync.js';

export interface LeftChangesOptions {
  readonly machine: string;
  readonly managerId: string;
  readonly generations: Pick<FileGenerations, 'head' | 'unpublishedOf' | 'forgetUnpublished'>;
  readonly isManagerAlive: (managerId: string) => Promise<boolean>;
  /** Binds a thread whose manager is gone to this one; false when it is bound to another one. */
  readonly takeOver: (thread: ThreadKey) => Promise<boolean>;
  readonly holdsThread: (thread: ThreadKey) => boolean;
  readonly sync: Pick<ThreadFileSync, 'refresh' | 'forget' | 'resume'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly everyMs: number;
}

/**
 * Stores changes that a manager of this machine had not stored when its process ended. Nobody may use the thread for long, but its
 * files can be read by gateways at any time. A note of this manager that came after the publication it was made for is removed too.
 */
export class LeftChanges {
  /** Each round looks at all threads of this machine. */
  readonly rounds: RepeatedTask;

  constructor(private readonly options: LeftChangesOptions) {
    const { clock, everyMs } = options;
    this.rounds = new RepeatedTask({
      clock,
      everyMs,
      work: (signal) => this.storeAll(signal),
      onFailure: (error) => this.logFailure(error),
    });
  }

  private async storeAll(signal: AbortSignal): Promise<void> {
    const { generations, machine } = this.options;
    for (const thread of await generations.unpublishedOf(machine)) {
      if (signal.aborted) return;
      await this.store(thread).catch((error: unknown) => this.logFailure(error, thread));
    }
  }

  /**
   * Stores what a manager of this machine has left of a thread.
   *
   * @returns `nothing` without such changes; `not_left` when that manager may live, or they are on another machine
   * @throws {UnavailableError} when the store or the registry does not answer
   */
  async store(thread: ThreadKey): Promise<'published' | 'nothing' | 'not_left'> {
    const { generations, machine, managerId, isManagerAlive, takeOver, holdsThread, sync } = this.options;
    const unpublished = (await generations.head(thread))?.unpublished;
    if (unpublished?.machine !== machine) {
      await generations.forgetUnpublished(thread, machine);
      return unpublished === undefined ? 'nothing' : 'not_left';
    }
    if (unpublished.managerId === managerId) {
      await sync.resume(thread);
      return 'not_left';
    }
    if ((await isManagerAlive(unpublished.managerId)) || !(await takeOver(thread))) return 'not_left';
    await sync.refresh(thread);
    // Without a sandbox here nothing says when the thread goes to another manager.
    if (!holdsThread(thread)) sync.forget(thread);
    await generations.forgetUnpublished(thread, machine);
    return 'published';
  }

  private logFailure(error: unknown, thread?: ThreadKey): void {
    const level = error instanceof AppError && error.expected ? 'warn' : 'error';
    const text = 'files that an ended sandbox-manager of this machine has left were not stored';
    this.options.logger[level]({ event: 'files.publish', outcome: 'error', ...thread, error }, text);
  }
}

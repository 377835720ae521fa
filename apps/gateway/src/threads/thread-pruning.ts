import { Injectable } from '@nestjs/common';
import { ConflictError, NotFoundError } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { ThreadStore } from '@caribou/state';
import { Dependency } from '../dependency.js';
import type { Erasures } from '../erasure/erasures.js';

/** Removes threads, or what they no longer need, by a list of ids. */
@Injectable()
export class ThreadPruning {
  constructor(
    @Dependency('threadStore') private readonly store: Pick<ThreadStore, 'keepLatestCheckpoint'>,
    @Dependency('erasures') private readonly erasures: Pick<Erasures, 'deleteThread'>,
  ) {}

  /**
   * Deletes the threads, or all checkpoints but the newest of each. Those that do not exist, belong to others or have a run
   * in flight are left as they are.
   *
   * @returns how many were pruned
   */
  async prune(userId: string, threadIds: readonly string[], strategy: 'delete' | 'keep_latest'): Promise<number> {
    let pruned = 0;
    for (const threadId of new Set(threadIds)) {
      const thread = { userId, threadId };
      if (await isDone(strategy === 'delete' ? this.erasures.deleteThread(thread) : this.keepLatest(thread)))
        pruned += 1;
    }
    return pruned;
  }

  private async keepLatest(thread: ThreadKey): Promise<void> {
    await this.store.keepLatestCheckpoint(thread);
  }
}

async function isDone(work: Promise<void>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (error instanceof NotFoundError || error instanceof ConflictError) return false;
    throw error;
  }
}

import { AppError } from '@caribou/contracts';
import { type Clock, type FileGenerations, type Logger, RepeatedTask, type ThreadKey } from '@caribou/core';
import type { WorkingCopies } from '@caribou/files';

export interface CopyEvictionOptions {
  readonly copies: Pick<WorkingCopies, 'evict'>;
  readonly generations: Pick<FileGenerations, 'head'>;
  /** Runs the work while nothing else happens to the thread's files; leaves it out for a thread whose sandbox is held. */
  readonly whenIdle: (thread: ThreadKey, work: () => Promise<void>) => Promise<void>;
  readonly maxCopies: number;
  readonly minFreeBytes: number;
  readonly everyMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Removes copies of threads' files that this machine does not need, from time to time: they are in the object store. */
export function createCopyEviction(options: CopyEvictionOptions): RepeatedTask {
  const { copies, generations, whenIdle, maxCopies, minFreeBytes, everyMs, clock, logger } = options;
  const headOf = (thread: ThreadKey) => generations.head(thread);
  return new RepeatedTask({
    clock,
    everyMs,
    work: async (signal) => {
      const { removed, held } = await copies.evict({ headOf, whenIdle, maxCopies, minFreeBytes, signal });
      if (removed + held > 0) logger.info({ event: 'files.evict', count: removed }, 'copies of files were removed');
    },
    onFailure: (error) => {
      const level = error instanceof AppError && error.expected ? 'warn' : 'error';
      logger[level]({ event: 'files.evict', outcome: 'error', error }, 'copies of files were not removed');
    },
  });
}

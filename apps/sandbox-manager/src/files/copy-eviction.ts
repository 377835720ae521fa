import { AppError } from '@caribou/contracts';
import { type Clock, type FileGenerations, type Logger, repeatUntilAborted, type ThreadKey } from '@caribou/core';
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
export class CopyEviction {
  private readonly stopping = new AbortController();
  private loop: Promise<void> = Promise.resolve();

  constructor(private readonly options: CopyEvictionOptions) {}

  start(): void {
    const { clock, everyMs } = this.options;
    this.loop = repeatUntilAborted({ clock, everyMs, signal: this.stopping.signal }, () => this.evict());
  }

  /** Ends the removals; resolves when the current one has finished. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
  }

  /** Never rejects, because a failed removal must not end the loop. */
  private async evict(): Promise<void> {
    const { copies, generations, whenIdle, maxCopies, minFreeBytes, logger } = this.options;
    try {
      const headOf = (thread: ThreadKey) => generations.head(thread);
      const { signal } = this.stopping;
      const { removed, held } = await copies.evict({ headOf, whenIdle, maxCopies, minFreeBytes, signal });
      if (removed + held > 0) logger.info({ event: 'files.evict', count: removed }, 'copies of files were removed');
    } catch (error) {
      const level = error instanceof AppError && error.expected ? 'warn' : 'error';
      logger[level]({ event: 'files.evict', outcome: 'error', error }, 'copies of files were not removed');
    }
  }
}

import { UnavailableError } from '@caribou/contracts';
import type { FileGenerations, Logger, ThreadKey } from '@caribou/core';
import { keyOf, noticeOf } from './copy-state.js';
import type { ThreadFileSync } from './thread-file-sync.js';

export interface LossNoticesOptions {
  readonly managerId: string;
  readonly sync: Pick<ThreadFileSync, 'takeNotice'>;
  readonly generations: Pick<FileGenerations, 'head' | 'forgetLoss'>;
  readonly logger: Logger;
}

/**
 * Sees to it that a result in the journal says which files of a thread are lost. Until then Redis has the entry, so that a later manager
 * says it when this one ends before; when it ends between the two, the text is in two results.
 */
export class LossNotices {
  /** Texts that are in no stored result yet, by thread. */
  private readonly open = new Map<string, string>();

  constructor(private readonly options: LossNoticesOptions) {}

  /** What the result of a command that ends now has to say; the text ends with a newline. */
  textFor(thread: ThreadKey): string | undefined {
    const text = this.open.get(keyOf(thread)) ?? this.options.sync.takeNotice(thread);
    if (text !== undefined) this.open.set(keyOf(thread), text);
    return text;
  }

  /** Called with what a result in the journal has on stderr. Does not reject when Redis is away: a later manager then repeats the text. */
  async onStored(thread: ThreadKey, stderr: string): Promise<void> {
    const text = this.open.get(keyOf(thread));
    if (text === undefined || !stderr.includes(text)) return;
    this.open.delete(keyOf(thread));
    const { managerId, generations, logger } = this.options;
    try {
      const lostSinceMs = (await generations.head(thread))?.lostSinceMs;
      if (lostSinceMs === undefined || noticeOf(lostSinceMs) !== text) return;
      await generations.forgetLoss(thread, { managerId, lostSinceMs });
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      logger.warn(
        { event: 'files.lost', outcome: 'error', ...thread, error },
        'the entry of lost changes was not removed',
      );
    }
  }

  /** Drops what is known of a thread whose sandbox this manager does not hold any more. */
  forget(thread: ThreadKey): void {
    this.open.delete(keyOf(thread));
  }
}

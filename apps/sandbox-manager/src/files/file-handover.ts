import { ConflictError } from '@caribou/contracts';
import type { FileGenerations, FileHead, FileWriter, Logger, ThreadKey } from '@caribou/core';
import { noticeOf } from './copy-state.js';

export interface FileHandoverOptions {
  readonly generations: Pick<FileGenerations, 'commit'>;
  readonly writer: FileWriter;
  readonly logger: Logger;
}

export interface TakenOver {
  /** The head, which has no older changes of another machine to come. */
  readonly head: FileHead | null;
  /** What the next result has to say about changes that are lost, also when an earlier manager took the files over and said nothing. */
  readonly notice?: string;
}

const MAX_ATTEMPTS = 8;

/**
 * Takes the files of a thread over from another machine: whatever that one still has on its disk is not merged any more. A command that
 * was killed there has left changes that nobody has seen, and later ones would be written over by them.
 */
export class FileHandover {
  constructor(private readonly options: FileHandoverOptions) {}

  /** Returns the head as it is when this machine committed last, or has changes that are not stored. @throws {FencedError} */
  async takeOver(thread: ThreadKey, known: FileHead | null): Promise<TakenOver> {
    const { generations, writer } = this.options;
    let head = known;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      if (head === null || this.isOwn(head)) return withNotice(head);
      const { trees, bytes, files, unpublished } = head;
      const commit = { expected: head, trees, bytes, files, writer, takesOver: true };
      const reply = await generations.commit(thread, commit);
      head = reply.head;
      if (!reply.committed) continue;
      if (unpublished !== undefined) this.logLoss(thread, unpublished.sinceMs);
      return withNotice(head);
    }
    throw new ConflictError(
      `the files of the thread were changed by others ${MAX_ATTEMPTS} times while they were taken over`,
    );
  }

  private isOwn({ machine, unpublished }: FileHead): boolean {
    const own = this.options.writer.machine;
    return unpublished === undefined ? machine === own : unpublished.machine === own;
  }

  private logLoss({ userId, threadId }: ThreadKey, sinceMs: number): void {
    const reason = noticeOf(sinceMs).trim();
    this.options.logger.error({ event: 'files.lost', userId, threadId, reason }, 'changes of files are lost');
  }
}

const withNotice = (head: FileHead | null): TakenOver =>
  head?.lostSinceMs === undefined ? { head } : { head, notice: noticeOf(head.lostSinceMs) };

import type { FileCommit, FileCommitReply, FileGenerations, FileHead, FileTrees, ThreadKey } from '@caribou/core';

/** Generations in memory, of any number of threads. */
export class MemoryGenerations implements Pick<FileGenerations, 'head' | 'commit' | 'noteUnpublished'> {
  readonly heads = new Map<string, FileHead>();
  readonly unpublished: ThreadKey[] = [];
  /** Runs before each commit, as another writer would. */
  beforeCommit: () => Promise<void> = async () => undefined;
  private homes = 0;

  async head({ threadId }: ThreadKey): Promise<FileHead | null> {
    return this.heads.get(threadId) ?? null;
  }

  async commit(thread: ThreadKey, { expected, trees, bytes, files }: FileCommit): Promise<FileCommitReply> {
    await this.beforeCommit();
    const head = await this.head(thread);
    const isExpected = head?.home === expected?.home && head?.generation === expected?.generation;
    if (!isExpected) return { committed: false, head };
    if (head === null) this.homes += 1;
    const next: FileHead = {
      home: head?.home ?? `home-${this.homes}`,
      generation: (head?.generation ?? 0) + 1,
      resetAt: head?.resetAt ?? 0,
      trees,
      bytes,
      files,
    };
    this.heads.set(thread.threadId, next);
    return { committed: true, head: next };
  }

  async noteUnpublished(thread: ThreadKey): Promise<void> {
    this.unpublished.push(thread);
  }

  /** Makes trees the head as going back to an earlier point does. */
  restore({ threadId }: ThreadKey, trees: FileTrees): FileHead {
    const head = this.heads.get(threadId);
    if (head === undefined) throw new Error('the thread has no files');
    const generation = head.generation + 1;
    const next = { ...head, trees, generation, resetAt: generation };
    this.heads.set(threadId, next);
    return next;
  }
}

import type {
  FileCommit,
  FileCommitReply,
  FileGeneration,
  FileGenerations,
  FileHead,
  FileWriter,
  ThreadKey,
  UnpublishedFiles,
} from '@caribou/core';

/** Generations in memory, of any number of threads. */
export class MemoryGenerations implements Pick<FileGenerations, 'head' | 'commit' | 'noteUnpublished'> {
  readonly heads = new Map<string, FileHead>();
  readonly unpublished = new Map<string, UnpublishedFiles>();
  /** Runs before each commit, as another writer would. */
  beforeCommit: () => Promise<void> = async () => undefined;
  private homes = 0;

  async head({ threadId }: ThreadKey): Promise<FileHead | null> {
    return this.heads.get(threadId) ?? null;
  }

  async commit(thread: ThreadKey, { expected, trees, bytes, files }: FileCommit): Promise<FileCommitReply> {
    await this.beforeCommit();
    const head = await this.head(thread);
    if (nameOf(head) !== nameOf(expected)) return { committed: false, head };
    const next: FileHead = { ...(head ?? this.first()), generation: (head?.generation ?? 0) + 1, trees, bytes, files };
    this.heads.set(thread.threadId, next);
    return { committed: true, head: next };
  }

  async noteUnpublished({ threadId }: ThreadKey, { managerId, machine }: FileWriter): Promise<void> {
    this.unpublished.set(threadId, { managerId, machine, sinceMs: 0 });
  }

  /** Makes trees the head as going back to an earlier point does. */
  restore({ threadId }: ThreadKey, { trees }: Pick<FileGeneration, 'trees'>): FileHead {
    const head = this.heads.get(threadId);
    if (head === undefined) throw new Error('the thread has no files');
    const generation = head.generation + 1;
    const next = { ...head, trees, generation, resetAt: generation };
    this.heads.set(threadId, next);
    return next;
  }

  private first(): Omit<FileHead, 'generation'> {
    this.homes += 1;
    return { home: `home-${this.homes}`, resetAt: 0, takenAt: 0, trees: {}, bytes: 0, files: 0 };
  }
}

const nameOf = (head: FileCommit['expected']): string => `${head?.home ?? ''} ${head?.generation ?? 0}`;

import { parseVirtualPath, type ThreadKey } from '@caribou/core';

/**
 * One change of a file at a time, in the order they came, so that an edit loses no write made beside it. A path costs
 * memory only while somebody changes it; the executor bounds how many do.
 */
export class PathLocks {
  private readonly last = new Map<string, Promise<void>>();

  /** The result of `change`, begun when all earlier changes of the path have settled. */
  async hold<T>({ userId, threadId }: ThreadKey, path: string, change: () => Promise<T>): Promise<T> {
    const parsed = parseVirtualPath(path);
    const key = JSON.stringify([userId, threadId, parsed?.directory ?? '', ...(parsed?.segments ?? [path])]);
    const turn = (this.last.get(key) ?? Promise.resolve()).then(change);
    const settled = turn.then(
      () => undefined,
      () => undefined,
    );
    this.last.set(key, settled);
    try {
      return await turn;
    } finally {
      if (this.last.get(key) === settled) this.last.delete(key);
    }
  }
}

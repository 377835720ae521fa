import { KeyedMutex, parseVirtualPath, type ThreadKey } from '@caribou/core';

/**
 * One change of a file at a time, in the order they came, so that an edit loses no write made beside it. A path costs
 * memory only while somebody changes it; the executor bounds how many do.
 */
export class PathLocks {
  private readonly mutex = new KeyedMutex();

  /** The result of `change`, begun when all earlier changes of the path have settled. */
  async hold<T>({ userId, threadId }: ThreadKey, path: string, change: () => Promise<T>): Promise<T> {
    const parsed = parseVirtualPath(path);
    const key = JSON.stringify([userId, threadId, parsed?.directory ?? '', ...(parsed?.segments ?? [path])]);
    return this.mutex.run(key, change);
  }
}

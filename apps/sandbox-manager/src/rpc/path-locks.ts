import { KeyedMutex, parseVirtualPath, type ThreadKey } from '@caribou/core';

/**
 * Serializes the changes of each file in the order of their requests, so that an edit never overwrites a concurrent
 * write. A path uses memory only while it is being changed; the executor bounds the number of concurrent changes.
 */
export class PathLocks {
  private readonly mutex = new KeyedMutex();

  /** Begins `change` when all earlier changes of the path have settled, and returns its result. */
  async hold<T>({ userId, threadId }: ThreadKey, path: string, change: () => Promise<T>): Promise<T> {
    const parsed = parseVirtualPath(path);
    const key = JSON.stringify([userId, threadId, parsed?.directory ?? '', ...(parsed?.segments ?? [path])]);
    return this.mutex.run(key, change);
  }
}

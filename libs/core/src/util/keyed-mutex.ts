/**
 * Runs one work per key at a time, in the order they come. A key takes memory only while work runs or waits under it; the
 * caller bounds how much waits.
 */
export class KeyedMutex {
  private readonly last = new Map<string, Promise<void>>();

  /** The result of `work`, begun when all earlier work under the key has settled. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const result = (this.last.get(key) ?? Promise.resolve()).then(work);
    const settled = result.then(
      () => undefined,
      () => undefined,
    );
    this.last.set(key, settled);
    try {
      return await result;
    } finally {
      if (this.last.get(key) === settled) this.last.delete(key);
    }
  }
}

/**
 * Settles as `work` does, or rejects with the signal's reason as soon as it aborts, because a tool that ignores the
 * signal must not delay a cancel. A later failure of the abandoned work is ignored.
 */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
    work.catch(() => undefined);
  }
}

/**
 * Maps each item by `visit`, in the order of the items; at most `limit` run at a time, started in order. After a
 * failure nothing further is started.
 *
 * @throws the first failure, once all that were started have settled
 */
export async function mapBounded<Item, Result>(
  items: readonly Item[],
  limit: number,
  visit: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const waiting = items.entries();
  const results: Result[] = [];
  const failures: unknown[] = [];
  const work = async (): Promise<void> => {
    for (const [index, item] of waiting) {
      if (failures.length > 0) return;
      try {
        results[index] = await visit(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, work));
  if (failures.length > 0) throw failures[0];
  return results;
}

/** Runs `work` for each item, at most `maxRunning` at a time, and returns the results in order. The first error ends it. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  maxRunning: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  let failed = false;
  const lane = async (): Promise<void> => {
    for (let index = next; index < items.length && !failed; index = next) {
      next += 1;
      try {
        results[index] = await work(items[index] as Item, index);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: Math.min(maxRunning, items.length) }, lane));
  const rejected = lanes.find((outcome) => outcome.status === 'rejected');
  if (rejected !== undefined) throw rejected.reason;
  return results;
}

/** The q-quantile (0..1) of a list, 0 for an empty one. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Runs `total` jobs, at most `concurrency` at once; returns their results in order. */
export async function inParallel<Result>(
  total: number,
  concurrency: number,
  job: (index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < total) {
      const index = next;
      next += 1;
      results[index] = await job(index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, total) }, lane));
  return results;
}

/** Runs jobs one after the other. */
export const inTurn = <Result>(total: number, job: (index: number) => Promise<Result>): Promise<Result[]> =>
  inParallel(total, 1, job);

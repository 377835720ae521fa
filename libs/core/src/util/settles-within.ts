import type { Clock } from './clock.js';

/** Whether the promise settles within `timeoutMs`; resolves at the earlier of the two. */
export async function settlesWithin(promise: Promise<unknown>, timeoutMs: number, clock: Clock): Promise<boolean> {
  const stop = new AbortController();
  const inTime = promise.then(
    () => true,
    () => true,
  );
  const late = clock.sleep(timeoutMs, stop.signal).then(
    () => false,
    () => false,
  );
  const answer = await Promise.race([inTime, late]);
  stop.abort();
  return answer;
}

import { type Clock, RunTimedOut } from '@caribou/core';
import type { Claimed } from './active-run.js';
import type { LeaseKeeper } from './leases/lease-keeper.js';

/**
 * Stops a run's work, like a cancel, once it has taken as long as its record allows. Time counts from the first claim,
 * so neither waiting before it nor a takeover after it changes the deadline.
 */
export function startRunTimeout(
  { run, ranMs }: Pick<Claimed, 'run' | 'ranMs'>,
  keeper: Pick<LeaseKeeper, 'fail'>,
  clock: Pick<Clock, 'sleep'>,
): { readonly stop: () => void } {
  const limitMs = run.kwargs.timeout_ms;
  if (limitMs === undefined) return { stop: () => undefined };
  const stopped = new AbortController();
  const end = (): void => keeper.fail(new RunTimedOut(limitMs));
  clock.sleep(Math.max(0, limitMs - ranMs), stopped.signal).then(end, () => undefined);
  return { stop: () => stopped.abort() };
}

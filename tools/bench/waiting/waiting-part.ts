import type { Part } from '../bench.js';
import { type Fleet, startFleet } from '../fleet.js';
import { readHeld, removeEventLogs, usedBytes, withRedis } from './held.js';
import { budgetsOf, sayWaiting, type WaitingCost } from './say-waiting.js';
import { assertWaiting, decide, makeWaiting, rejectAll, WAITING_CONFIG, type WaitingKind } from './waiting-threads.js';

const THREADS = 10_000;
const WARM_UP = 2_500;

/** What so many threads hold while each of them waits for a person, in a system of its own. */
export const waiting: Part = async ({ times }) => {
  const fleet = await startFleet({ config: WAITING_CONFIG, sandbox: ['idle_ms: 1000', 'reap_ms: 200'] });
  try {
    const cost = await waitingCost(fleet, times(THREADS), times(WARM_UP));
    sayWaiting(cost);
    return budgetsOf(cost);
  } finally {
    await fleet.stop();
  }
};

async function waitingCost(fleet: Fleet, threads: number, warmUp: number): Promise<WaitingCost> {
  // Code is compiled, caches are filled and lazily created objects exist before the first measurement; nothing waits then.
  await rejectAll(fleet, await makeWaiting(fleet, warmUp));
  await assertWaiting(fleet, 0);
  await withRedis(fleet, removeEventLogs);
  const before = await readHeld(fleet);
  const made = await makeWaiting(fleet, threads);
  const after = await readHeld(fleet);
  await assertWaiting(fleet, threads);
  await withRedis(fleet, removeEventLogs);
  const later = await withRedis(fleet, usedBytes);
  const resumedMs: Partial<Record<WaitingKind, number>> = {};
  for (const thread of made.slice(threads / 2, threads / 2 + 60))
    resumedMs[thread.kind] ??= await decide(fleet, thread, 'approve');
  const perThread = (bytes: number): number => (bytes - before.redis.bytes) / threads;
  const bytesPerThread = { first: perThread(after.redis.bytes), later: perThread(later) };
  return { threads, before, after, bytesPerThread, resumedMs };
}

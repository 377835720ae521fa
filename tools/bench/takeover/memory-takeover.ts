import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRedis, redisMemoryStore } from '@caribou/state';
import { type Fleet, startFleet } from '../fleet.js';
import { type Budget, say } from '../report.js';
import { inParallel, median, quantile } from '../sample.js';
import type { RunningProcess } from '../processes.js';
import { newThread, streamRun } from '../turns.js';
import { releaseCalls, waitingCalls } from './model-control.js';
import { until } from '../parts/until.js';

/** Threads that two memory-workers extract from when one of them is killed. */
const THREADS = 8;
/** A new worker tells that others are dead once it has lived for the time of a lease. */
const SETTLE_MS = 4_000;
/** The owner when authentication is off. */
const USER = 'default';
const CONFIG = 'memory:\n  debounce_seconds: 1\n  worker_slots: 16\n';

/**
 * kill -9 of a memory-worker whose extractions wait for the model, while another one is there: from the kill until the model is asked
 * again for each of them. The calls are answered then, and each thread is in the memory.
 */
export async function memoryTakeover(kills: number): Promise<readonly Budget[]> {
  const fleet = await startFleet({ config: CONFIG });
  const ms: number[] = [];
  try {
    let victim = fleet.process('memory-worker');
    for (let killed = 0; killed < kills; killed += 1) {
      const survivor = await fleet.start('memory-worker');
      await sleep(SETTLE_MS);
      await beginExtractions(fleet);
      ms.push(...(await killAndWait(fleet, victim)));
      await endExtractions(fleet);
      victim = survivor;
    }
  } finally {
    await fleet.stop();
  }
  const p99 = quantile(ms, 0.99);
  say(
    `${kills} times kill -9 of memory-worker, ${ms.length} extractions of dead processes: ` +
      `begun again after p50 ${median(ms).toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, at most ${Math.max(...ms).toFixed(0)} ms`,
  );
  return [{ what: 'extractions of a killed memory-worker, p99', value: p99 / 1_000, unit: 's', atMost: 5 }];
}

/** Ends when the model is asked for all threads; both workers take some of them. */
async function beginExtractions(fleet: Fleet): Promise<void> {
  const gate = `gate${randomUUID().replaceAll('-', '')}`;
  await inParallel(THREADS, THREADS, async () => {
    const url = `${fleet.apiUrl}/threads/${await newThread(fleet.apiUrl)}`;
    await streamRun(url, `#say noted\nRemember: ${randomUUID()} memory-hold:${gate}`);
  });
  await until(async () => (await waitingCalls(fleet)) === THREADS, 'the calls of the model');
}

/** Returns how long after the kill each call of the dead process was made again. */
async function killAndWait(fleet: Fleet, victim: RunningProcess): Promise<readonly number[]> {
  const killedMs = performance.now();
  await victim.kill();
  // The model sees that the connections of the dead process are closed: its calls wait no longer.
  let least = THREADS;
  const ms: number[] = [];
  await until(async () => {
    const waiting = await waitingCalls(fleet);
    least = Math.min(least, waiting);
    while (least + ms.length < waiting) ms.push(performance.now() - killedMs);
    return waiting === THREADS && performance.now() - killedMs > SETTLE_MS / 8;
  }, 'the extractions of the dead process');
  return ms;
}

async function endExtractions(fleet: Fleet): Promise<void> {
  await releaseCalls(fleet);
  const redis = createRedis({ url: fleet.redisUrl });
  try {
    const memories = redisMemoryStore(redis);
    await until(async () => {
      const { due, running } = await memories.status(USER);
      return due + running === 0;
    }, 'the end of all extractions');
  } finally {
    await redis.close();
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { countPendingThreads, createRedis, type RedisConnection, redisThreadStore } from '@caribou/state';
import { type Fleet, startFleet } from '../fleet.js';
import { simpleTurn } from '../load.js';
import { inParallel, median, quantile } from '../sample.js';
import { readStream } from '../sse-client.js';

const SLOTS = 8;
/** Milliseconds before each token of a run. It has 40, those of the first user 20 to 60, so that slots do not become free at once. */
const PACE_MS = 20;
const USERS = { many: 'many', one: 'one' };
const KEYS = { many: 'key-of-the-user-with-many', one: 'key-of-the-user-with-one' };
/** How long after the start of one run of the second user the next one is started, in milliseconds. */
const EVERY_MS = 1_000;

/** What a user waits who starts a run each second while another one has a thousand that wait. */
export interface Fairness {
  readonly waiting: number;
  readonly turns: number;
  /** From the admission of a run to its claim, in milliseconds. */
  readonly waitMs: { readonly p50: number; readonly p99: number };
  /** The time in which two slots become free, one for each user, in milliseconds. */
  readonly shareMs: number;
}

/** Two users on one runner of eight slots. */
export async function measureFairness({ waiting, turns }: Pick<Fairness, 'waiting' | 'turns'>): Promise<Fairness> {
  const fleet = await startFleet({
    runnerSlots: SLOTS,
    env: { CARIBOU_API_KEYS: `${KEYS.many}:${USERS.many},${KEYS.one}:${USERS.one}` },
  });
  const redis = createRedis({ url: fleet.redisUrl });
  try {
    await inParallel(50, 4, () => waitAs(fleet, redis, KEYS.one));
    await inParallel(waiting, 16, (index) => startAs(fleet, KEYS.many, index));
    const [beganMs, before] = [performance.now(), await countPendingThreads(redis)];
    const waits: number[] = [];
    const streams: Promise<void>[] = [];
    for (let turn = 0; turn < turns; turn += 1) {
      streams.push(waitAs(fleet, redis, KEYS.one).then((waitMs) => void waits.push(waitMs)));
      await sleep(EVERY_MS);
    }
    await Promise.all(streams);
    const ended = before + turns - (await countPendingThreads(redis));
    const waitMs = { p50: median(waits), p99: quantile(waits, 0.99) };
    return { waiting, turns, waitMs, shareMs: (2 * (performance.now() - beganMs)) / ended };
  } finally {
    await redis.close();
    await fleet.stop();
  }
}

const runOf = (script: string) => ({
  assistant_id: 'lead_agent',
  input: { messages: [{ type: 'human', content: script }] },
});

/** Starts a run on a thread of its own, and does not wait for it. @throws Error for a status other than 2xx */
async function startAs({ apiUrl }: Fleet, key: string, index: number): Promise<void> {
  const response = await fetch(`${apiUrl}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify(runOf(`#tokens ${20 + ((index * 17) % 41)} ${PACE_MS}`)),
    signal: AbortSignal.timeout(60_000),
  });
  if (!response.ok) throw new Error(`${apiUrl}/runs answered ${response.status}`);
  await response.arrayBuffer();
}

/** Executes a run; how long it waited from its admission to its claim, by the clock of the store. */
async function waitAs({ apiUrl }: Fleet, redis: RedisConnection, key: string): Promise<number> {
  const { location } = await readStream({
    method: 'POST',
    url: `${apiUrl}/runs/stream`,
    body: { ...runOf(simpleTurn(PACE_MS)), stream_mode: ['messages-tuple', 'updates'], on_completion: 'keep' },
    headers: { 'x-api-key': key },
  });
  const [, threadId = '', runId = ''] = /threads\/([^/]+)\/runs\/([^/]+)/.exec(location) ?? [];
  const run = await redisThreadStore(redis).getRun({ userId: USERS.one, threadId }, runId);
  return Date.parse(run.started_at ?? '') - Date.parse(run.created_at);
}

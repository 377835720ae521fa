import { setTimeout as sleep } from 'node:timers/promises';
import { countPendingThreads, createRedis, type RedisConnection, redisThreadStore } from '@caribou/state';
import { type Fleet, startFleet } from '../fleet.js';
import { simpleTurn } from '../load.js';
import { inParallel } from '../sample.js';
import { readStream } from '../sse-client.js';
import { apiKeys, busyUser, keyOf, QUIET_USER, workShares, type WorkShares } from './users.js';

const SLOTS = 8;
/** Milliseconds before each token of a run. It has 40, those of the first user 20 to 60, so that slots do not become free at once. */
const PACE_MS = 20;
export interface RunLoad {
  /** Runs of all others that wait at first. */
  readonly waiting: number;
  /** How many users they belong to. */
  readonly others: number;
  /** Runs of the user with few. */
  readonly turns: number;
  /** How long after the start of one of them the next one is started, in milliseconds; longer than a share, or they wait for each other. */
  readonly everyMs: number;
}

/** Some users with many runs and one with few, on one runner of eight slots. A wait is from the admission of a run to its claim. */
export async function runShares({ waiting, others, turns, everyMs }: RunLoad): Promise<WorkShares> {
  const fleet = await startFleet({ runnerSlots: SLOTS, env: { CARIBOU_API_KEYS: apiKeys(others) } });
  const redis = createRedis({ url: fleet.redisUrl });
  try {
    await inParallel(50, 4, () => waitAs(fleet, redis));
    await inParallel(waiting, 16, (index) => startAs(fleet, keyOf(busyUser(index % others)), index));
    const [beganMs, before] = [performance.now(), await countPendingThreads(redis)];
    const waits: number[] = [];
    const streams: Promise<void>[] = [];
    for (let turn = 0; turn < turns; turn += 1) {
      streams.push(waitAs(fleet, redis).then((waitMs) => void waits.push(waitMs)));
      await sleep(everyMs);
    }
    await Promise.all(streams);
    const ended = before + turns - (await countPendingThreads(redis));
    const elapsedMs = performance.now() - beganMs;
    return workShares(waiting, waits, { ended, elapsedMs, users: others + 1 });
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
async function waitAs({ apiUrl }: Fleet, redis: RedisConnection): Promise<number> {
  const { location } = await readStream({
    method: 'POST',
    url: `${apiUrl}/runs/stream`,
    body: { ...runOf(simpleTurn(PACE_MS)), stream_mode: ['messages-tuple', 'updates'], on_completion: 'keep' },
    headers: { 'x-api-key': keyOf(QUIET_USER) },
  });
  const [, threadId = '', runId = ''] = /threads\/([^/]+)\/runs\/([^/]+)/.exec(location) ?? [];
  const run = await redisThreadStore(redis).getRun({ userId: QUIET_USER, threadId }, runId);
  return Date.parse(run.started_at ?? '') - Date.parse(run.created_at);
}

import { ConflictError, NotFoundError, QuotaError } from '@caribou/contracts';
import type { CronDraft, CronRun, CronStore, StoredCron, TakenCrons } from '../ports/cron-store.js';
import { BeingErasedError } from '../ports/erasure-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { readSetPage } from '../pages/set-page.js';
import type { SetQuery } from '../ports/cron-store.js';
import { parsePendingMember } from '../redis/keys.js';
import { foreignType } from '../redis/redis-errors.js';
import { loadScript } from '../redis/scripts.js';
import { parseStored } from '../redis/stored-json.js';
import { cronOf } from './cron-codec.js';
import { cronMember, cronParams } from './cron-params.js';

const scripts = {
  put: loadScript('crons/put-cron'),
  remove: loadScript('crons/remove-cron'),
  take: loadScript('crons/take-crons'),
  pass: loadScript('crons/pass-due-time'),
};

export interface CronOptions {
  /** Crons that one user may have. */
  readonly maxPerUser: number;
}

const noCron = (cronId: string): NotFoundError => new NotFoundError(`Cron ${cronId} does not exist`);

const tooMany = (limit: number): QuotaError =>
  new QuotaError(`you have ${limit} crons, which is the limit (crons.max_per_user): delete some`, {
    quota: 'crons',
    limit,
    used: limit,
  });

const usedUp = (used: number): ConflictError =>
  new ConflictError(`max_runs: all ${used} runs are used up; set it to more in the same request, or to null`, {
    details: { field: 'max_runs', used },
  });

async function readClock(redis: RedisConnection): Promise<number> {
  const [seconds, micros] = await redis.use((client) => client.time());
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}

/** The crons of users in Redis. */
export function redisCrons(redis: RedisConnection, { maxPerUser }: CronOptions): CronStore {
  const { keys } = redis;

  async function put({ userId, cronId, spec, dueMs, maxRuns }: CronDraft, version?: number): Promise<StoredCron> {
    const { record, ofUser, due } = keys.cron(userId, cronId);
    const params = {
      ...{ id: cronId, member: cronMember(userId, cronId), user: userId, max: maxPerUser, erasing: keys.erasing },
      ...(dueMs === undefined ? {} : { due: dueMs === null ? '' : String(dueMs) }),
      ...(maxRuns === null ? {} : { max_runs: maxRuns }),
      ...(version === undefined ? {} : { version: String(version) }),
    };
    const [outcome, detail] = (await redis.run(scripts.put, [record, ofUser, due], [JSON.stringify(params), spec])) as [
      string,
      unknown,
    ];
    switch (outcome) {
      case 'ok':
        return cronOf(userId, cronId, detail);
      case 'full':
        throw tooMany(maxPerUser);
      case 'none':
        throw noCron(cronId);
      case 'stale':
        throw new ConflictError('the cron was changed meanwhile: read it again');
      case 'used_up':
        throw usedUp(Number(detail));
      case 'erasing':
        throw new BeingErasedError('this user is being erased: try again later');
      default:
        throw foreignType(detail);
    }
  }

  async function read(userId: string, cronId: string): Promise<StoredCron | null> {
    const hash = await redis.use((client) => client.hgetall(keys.cron(userId, cronId).record));
    return hash['version'] === undefined ? null : cronOf(userId, cronId, Object.entries(hash).flat());
  }

  async function remove(userId: string, cronId: string): Promise<boolean> {
    const { record, runs, ofUser, due } = keys.cron(userId, cronId);
    const args = [cronId, cronMember(userId, cronId)];
    return (await redis.run(scripts.remove, [record, runs, ofUser, due], args)) === 1;
  }

  const listIds = (userId: string): Promise<string[]> =>
    redis.use((client) => client.zrange(keys.cron(userId, userId).ofUser, 0, -1));

  return {
    now: () => readClock(redis),
    create: (cron) => put(cron),
    replace: (cron, version) => put(cron, version),
    get: async (userId, cronId) => {
      const cron = await read(userId, cronId);
      if (cron === null) throw noCron(cronId);
      return cron;
    },
    list: async (userId) => {
      const crons = await Promise.all((await listIds(userId)).map((cronId) => read(userId, cronId)));
      return crons.filter((cron) => cron !== null);
    },
    page: (query) => pageOfCrons(redis, read, query),
    remove,
    take: async ({ limit, perUser, leaseMs }) =>
      takenOf(
        await redis.run(scripts.take, [keys.cron('none', 'none').due], [keys.cronPrefix, limit, perUser, leaseMs]),
      ),
    pass: async (userId, start, { error, retryMs }) => {
      const { record, runs, due } = keys.cron(userId, start.cronId);
      const params = { ...cronParams(redis, userId, start), error, retry_ms: retryMs };
      const reply = await redis.run(scripts.pass, [record, runs, due], [JSON.stringify(params)]);
      const [outcome, key] = reply as [string, unknown];
      if (outcome === 'damaged') throw foreignType(key);
      return outcome === 'ok';
    },
    runs: async (userId, cronId, { limit, offset }) => {
      const list = keys.cron(userId, cronId).runs;
      const texts = await redis.use((client) => client.lrange(list, offset, offset + limit - 1));
      return texts.map((text) => parseStored<CronRun>(text));
    },
    removeAll: async (userId) => {
      for (const cronId of await listIds(userId)) await remove(userId, cronId);
    },
  };
}

/** Crons of all users that have a due time, the next one first. */
async function pageOfCrons(
  redis: RedisConnection,
  read: (userId: string, cronId: string) => Promise<StoredCron | null>,
  query: SetQuery,
): ReturnType<CronStore['page']> {
  const { members, nextCursor } = await readSetPage(redis, redis.keys.cron('none', 'none').due, query);
  const listed = members.map(({ member }) => parsePendingMember(member));
  const crons = await Promise.all(listed.map(({ userId, threadId: cronId }) => read(userId, cronId)));
  return { crons: crons.filter((cron) => cron !== null), nextCursor };
}

const isEmpty = (flat: unknown): boolean => Array.isArray(flat) && flat.length === 0;

function takenOf(reply: unknown): TakenCrons {
  const [now, wait, found] = reply as readonly [string, string, readonly (readonly [string, unknown])[]];
  return {
    nowMs: Number(now),
    waitMs: Number(wait) < 0 ? null : Number(wait),
    damaged: found.filter(([, flat]) => isEmpty(flat)).map(([member]) => member),
    crons: found
      .filter(([, flat]) => !isEmpty(flat))
      .map(([member, flat]) => {
        const { userId, threadId: cronId } = parsePendingMember(member);
        return cronOf(userId, cronId, flat);
      }),
  };
}

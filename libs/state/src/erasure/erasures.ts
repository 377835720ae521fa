import { BugError, ConflictError, ForbiddenError, omitUndefined } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { Erasure, ErasureStore } from '../ports/erasure-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { pendingMember } from '../redis/keys.js';
import { loadScript } from '../redis/scripts.js';

const scripts = {
  moved: loadScript('erasure/move-erasure'),
  due: loadScript('erasure/due-erased'),
  begin: loadScript('erasure/begin-user-erasure'),
  finishUser: loadScript('erasure/finish-user-erasure'),
};

function erasureOf(member: string, token: string): Erasure {
  const [userId = '', threadId] = member.split('/');
  return { userId, token, ...omitUndefined({ threadId }) };
}

const memberOf = ({ userId, threadId }: Erasure): string =>
  threadId === undefined ? userId : pendingMember({ userId, threadId });

/** Deletions whose files still exist: a hash of those to be moved aside, a sorted set of those that were. */
export function redisErasures(redis: RedisConnection): ErasureStore {
  const { erasing, erased, accounts, accountOrder, administrators } = redis.keys;
  const ofAllAccounts = [accounts, accountOrder, administrators];
  if (erasing === undefined) throw new BugError('threads of this part of the store have no files');
  const accountKeys = (userId: string): string[] => {
    const { record, sessions } = redis.keys.account(userId);
    return [record, sessions];
  };
  return {
    findPending: async (thread: ThreadKey) => {
      const members = [thread.userId, pendingMember(thread)];
      const tokens = await redis.use((client) => client.hmget(erasing, ...members));
      const at = tokens.findIndex((token) => token !== null);
      return at === -1 ? null : erasureOf(members[at] ?? '', tokens[at] ?? '');
    },
    listPending: async (limit) => {
      const flat = await redis.use((client) => client.hrandfield(erasing, limit, 'WITHVALUES'));
      const texts = Array.isArray(flat) ? flat.map(String) : [];
      return texts.flatMap((text, at) => (at % 2 === 0 ? [erasureOf(text, texts[at + 1] ?? '')] : []));
    },
    markMoved: async (erasure, aside) => {
      const { userId, threadId } = erasure;
      const conversions = threadId === undefined ? [] : [redis.keys.conversions({ userId, threadId })];
      await redis.run(scripts.moved, [erasing, erased, ...conversions], [memberOf(erasure), erasure.token, aside]);
    },
    listDue: async (limit) => (await redis.run(scripts.due, [erased], [limit])) as string[],
    markEmptied: async (aside, forMs) => {
      await redis.run(scripts.due, [erased], [aside, forMs]);
    },
    remove: async (aside) => {
      await redis.use((client) => client.zrem(erased, aside));
    },
    beginUser: async (userId, administrator) => {
      const { inFlight } = redis.keys.thread({ userId, threadId: userId });
      const asks = administrator === undefined ? [] : [administrator];
      const keys = [erasing, inFlight, ...asks.map((id) => redis.keys.account(id).record)];
      const [outcome, token = ''] = (await redis.run(scripts.begin, keys, [userId, ...asks])) as string[];
      if (outcome === 'no_admin')
        throw new ForbiddenError('the account of this administrator was removed or is being erased');
      if (outcome === 'busy') throw new ConflictError('runs of this user are in flight: cancel them first');
      return { userId, token };
    },
    threadsOf: (userId) => redis.use((client) => client.zrange(redis.keys.threads(userId), 0, -1)),
    forgetUploads: async (userId, threadIds) => {
      const keys = threadIds.flatMap((threadId) => [
        redis.keys.conversions({ userId, threadId }),
        redis.keys.files({ userId, threadId }).generations,
      ]);
      if (keys.length > 0) await redis.use((client) => client.unlink(...keys));
    },
    closeAccount: async (userId) => {
      await redis.run(scripts.finishUser, [...ofAllAccounts, ...accountKeys(userId)], [userId]);
    },
    forgetUser: async (userId) => {
      const { inFlight, stored } = redis.keys.thread({ userId, threadId: userId });
      const { agents, souls } = redis.keys.agents(userId);
      const { heads, versions } = redis.keys.assistants(userId);
      const own = [
        ...Object.values<string>({ ...redis.keys.items(userId) }),
        agents,
        souls,
        heads,
        versions,
        redis.keys.profile(userId),
        ...Object.values<string>({ ...redis.keys.traceTexts(userId) }),
        redis.keys.skills(userId),
        redis.keys.threads(userId),
        redis.keys.files({ userId, threadId: userId }).filed,
      ];
      const { waiting, running } = redis.keys.turnsOf(userId);
      const listed = [waiting, running, redis.keys.interrupted(userId)];
      const keys = [...ofAllAccounts, ...accountKeys(userId), ...own, inFlight, stored, ...listed];
      await redis.run(scripts.finishUser, keys, [userId]);
      await redis.use((client) => client.zrem(redis.keys.turns.ready, userId));
    },
  };
}

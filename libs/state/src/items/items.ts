import { BugError } from '@caribou/contracts';
import { z } from 'zod';
import { assertSound } from '../memory/memory-record.js';
import type { ItemKey, ItemLimits, ItemStore, PutOutcome, StoredItem } from '../ports/item-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { MAX_READ_BYTES } from '../redis/read-hashes.js';
import { loadScript } from '../redis/scripts.js';
import type { Reply } from '../redis/thread-call.js';

const scripts = {
  put: loadScript('items/put-item'),
  remove: loadScript('items/remove-item'),
  read: loadScript('items/read-items'),
  refresh: loadScript('items/refresh-items'),
};

const LABEL_END = '\u001f';
const KEY_BEGIN = '\u001e';

/** Items read or refreshed in one round trip. */
const PAGE = 200;

const Content = z.object({
  value: z.record(z.string(), z.unknown()),
  index: z.array(z.string()).nullable(),
});

/** Users' items in Redis, as `items/items.lua` describes. */
export function redisItems(redis: RedisConnection, limits: ItemLimits): ItemStore {
  const keysOf = (userId: string): string[] => Object.values<string>({ ...redis.keys.items(userId) });

  async function call(
    userId: string,
    script: (typeof scripts)['put'],
    args: readonly (string | number)[],
  ): Promise<Reply> {
    const reply = (await redis.run(script, keysOf(userId), [...args])) as Reply;
    assertSound(reply);
    return reply;
  }

  return {
    put: async (userId, { value, index, ttlMinutes = 0, vector = '', ...key }) => {
      const text = JSON.stringify({ value, index });
      const args = [memberOf(key), text, ttlMinutes, limits.maxItems, limits.maxBytes, vector];
      return outcomeOf(await call(userId, scripts.put, args), limits);
    },
    vectors: async (userId, items) => {
      const { vectors } = redis.keys.items(userId);
      const found: (string | null)[] = [];
      for (let from = 0; from < items.length; from += PAGE) {
        const members = items.slice(from, from + PAGE).map(memberOf);
        found.push(...(await redis.use((client) => client.hmget(vectors, ...members))));
      }
      return found;
    },
    remove: async (userId, key) => (await call(userId, scripts.remove, [memberOf(key)]))[1] === 1,
    read: async (userId, items) => {
      const found: StoredItem[] = [];
      for (let from = 0; from < items.length; ) {
        const page = items.slice(from, from + PAGE);
        const [, ...texts] = await call(userId, scripts.read, [MAX_READ_BYTES, ...page.map(memberOf)]);
        found.push(...texts.flatMap((text, at) => itemOf(page[at], String(text))));
        from += Math.max(1, texts.length);
      }
      return found;
    },
    refresh: async (userId, items) => {
      for (let from = 0; from < items.length; from += PAGE)
        await call(userId, scripts.refresh, items.slice(from, from + PAGE).map(memberOf));
    },
    keys: async (userId) => {
      const { written } = redis.keys.items(userId);
      return (await redis.use((client) => client.zrevrange(written, 0, -1))).map(keyOf);
    },
    live: async (userId, items) => {
      const { expiries } = redis.keys.items(userId);
      const [[seconds], due] = await redis.use((client) =>
        Promise.all([client.time(), client.zrange(expiries, 0, -1, 'WITHSCORES')]),
      );
      const nowMs = Number(seconds) * 1_000;
      const gone = new Set(due.filter((_, at) => at % 2 === 0 && Number(due[at + 1]) <= nowMs));
      return items.filter((item) => !gone.has(memberOf(item)));
    },
  };
}

const memberOf = ({ namespace, key }: ItemKey): string =>
  `${namespace.map((label) => label + LABEL_END).join('')}${KEY_BEGIN}${key}`;

function keyOf(member: string): ItemKey {
  const border = member.indexOf(KEY_BEGIN);
  return { namespace: member.slice(0, border).split(LABEL_END).slice(0, -1), key: member.slice(border + 1) };
}

function itemOf(item: ItemKey | undefined, text: string): StoredItem[] {
  const match = /^(\S+) (\S+) \d+ (.*)$/s.exec(text);
  if (item === undefined || match === null) return [];
  const [, created_at = '', updated_at = '', json = ''] = match;
  return [{ ...item, ...Content.parse(JSON.parse(json)), created_at, updated_at }];
}

function outcomeOf([outcome, used]: Reply, { maxItems, maxBytes }: ItemLimits): PutOutcome {
  switch (outcome) {
    case 'written':
      return { outcome };
    case 'items':
      return { outcome: 'full', use: { quota: 'store-items', limit: maxItems, used: Number(used) } };
    case 'bytes':
      return { outcome: 'full', use: { quota: 'store-bytes', limit: maxBytes, used: Number(used) } };
    default:
      throw new BugError(`unknown reply of put-item: ${String(outcome)}`);
  }
}

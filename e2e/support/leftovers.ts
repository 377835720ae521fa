import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { RedisConnection } from '@caribou/state';
import type { Stack } from './stack.js';

/** Keys that may still name a deleted thread or user. */
const ALLOWED_KEYS: readonly (readonly [RegExp, string])[] = [
  [/^caribou:audit$/, 'who ran what is the operator’s to know; bounded'],
  [/^caribou:dead-letters$/, 'ids without content; bounded'],
  [/^caribou:(tasks:)?letters(:times)?$/, 'ids for the operator; those of an erased user are removed; bounded'],
  [/^caribou:erased$/, 'names the markers below, and goes with them'],
  [/^caribou:user:[^:]+:idempotency:/, 'a repeated request must not be a new run; expires'],
];
const ALLOWED_FILES: readonly (readonly [RegExp, string])[] = [
  [
    /^data\/users\/\.erased\/[^/]+(?:\/moved)?$/,
    'prevents a paused gateway from moving a successor’s files; removed after an hour',
  ],
  [/^data\/users(?:\/\.erased)?$/, 'of all users'],
];

const isAllowed = (allowed: typeof ALLOWED_KEYS, name: string): boolean =>
  allowed.some(([pattern]) => pattern.test(name));

/** All text in a key of the store: its fields, members and values. */
async function contentOf(redis: RedisConnection, key: string): Promise<string> {
  const content = await redis.use<unknown>(async (client) => {
    switch (await client.type(key)) {
      case 'string':
        return client.get(key);
      case 'hash':
        return client.hgetall(key);
      case 'set':
        return client.smembers(key);
      case 'zset':
        return client.zrange(key, 0, -1);
      case 'list':
        return client.lrange(key, 0, -1);
      case 'stream':
        return client.xrange(key, '-', '+');
      default:
        return null;
    }
  });
  return JSON.stringify(content);
}

/** Keys of the store that contain an id in their name or value, except for the allowed ones. */
export async function keysNaming(redis: RedisConnection, id: string): Promise<string[]> {
  const keys = await redis.use((client) => client.keys('*'));
  const named = await Promise.all(
    keys
      .filter((key) => !isAllowed(ALLOWED_KEYS, key))
      .map(async (key) => (key.includes(id) || (await contentOf(redis, key)).includes(id) ? [key] : [])),
  );
  return named.flat().sort((one, other) => one.localeCompare(other));
}

/** Everything below a directory: its path below `top`, and its own text. */
function* entriesBelow(top: string, directory = top): Generator<{ readonly path: string; readonly text: string }> {
  for (const name of readdirSync(directory)) {
    const full = join(directory, name);
    const stat = lstatSync(full);
    yield { path: relative(top, full), text: stat.isFile() ? readFileSync(full, 'latin1') : '' };
    if (stat.isDirectory()) yield* entriesBelow(top, full);
  }
}

/** Files and directories of the services' home that contain one of the texts in path or content, except for the allowed ones. */
export const filesNaming = ({ homeDir }: Stack, ...texts: readonly string[]): string[] =>
  [...entriesBelow(homeDir)]
    .filter(({ path }) => !isAllowed(ALLOWED_FILES, path))
    .flatMap(({ path, text }) => (texts.some((one) => path.includes(one) || text.includes(one)) ? [path] : []));

import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { LEAD_AGENT, streams } from '@caribou/contracts';
import { silentLogger } from '@caribou/core';
import { createRedis, type RedisConnection, redisMemoryStore } from '@caribou/state';
import { connect } from 'nats';
import type { Stack } from '../support/stack.js';
import type { Remembered } from './history.js';
import type { Journal } from './journal.js';

const USER = 'default';
/** The servers whose content is examined, by addresses that may see all of it. */
export interface ServerAddresses {
  readonly redis: { readonly url: string };
  readonly nats: { readonly url: string };
}

const MAX_LINES = 40;
const QUEUES = [streams.turns, streams.subagents, streams.memory];
/** Keys that exist only while work is under way; all others expire. */
const WHILE_WORKING =
  /:lease$|^caribou:(tasks:)?(pending|slots|slots:tokens)$|:in-flight$|:memory:(due|running)$|:inbox$/;
const WITH_DEADLINE = /:(execution|events):|:kwargs$/;

/** Waits until the work has left nothing behind, and returns what remains when the time is over. */
export async function findLeftovers(
  stack: ServerAddresses,
  journal: Journal,
  settleMs: number,
): Promise<readonly string[]> {
  const deadlineMs = performance.now() + settleMs;
  for (;;) {
    const left = [...(await leftInRedis(stack, journal)), ...(await leftInNats(stack))].slice(0, MAX_LINES);
    if (left.length === 0 || performance.now() > deadlineMs) return left;
    await sleep(500);
  }
}

async function withRedis<T>(stack: ServerAddresses, look: (redis: RedisConnection) => Promise<T>): Promise<T> {
  const redis = createRedis({ url: stack.redis.url, logger: silentLogger });
  try {
    return await look(redis);
  } finally {
    await redis.close();
  }
}

async function leftInRedis(stack: ServerAddresses, { runs }: Journal): Promise<readonly string[]> {
  const alone = new Set(runs.filter(({ kind }) => kind === 'stateless').map(({ threadId }) => threadId));
  return await withRedis(stack, (redis) =>
    redis.use(async (client) => {
      const keys = await client.keys('caribou:*');
      const left = keys.filter((key) => WHILE_WORKING.test(key)).map((key) => `key ${key}`);
      const bounded = keys.filter((key) => WITH_DEADLINE.test(key) || key.split(':').some((part) => alone.has(part)));
      for (const key of bounded) if ((await client.pttl(key)) === -1) left.push(`key without a deadline ${key}`);
      for (const key of keys.filter((name) => name.endsWith(':files'))) {
        const holder = await client.hget(key, 'unpublished');
        if (holder !== null) left.push(`changes that are not stored, ${key}: ${holder}`);
      }
      return left;
    }),
  );
}

async function leftInNats({ nats }: ServerAddresses): Promise<readonly string[]> {
  const { username, password, host } = new URL(nats.url);
  const connection = await connect({ servers: host, user: username, pass: password, timeout: 10_000 });
  try {
    const manager = await connection.jetstreamManager();
    const left = await Promise.all(
      QUEUES.map(async ({ name, consumer }) => {
        const { state } = await manager.streams.info(name);
        if (state.messages === 0) return [];
        const { delivered, ack_floor, num_ack_pending, num_waiting } = await manager.consumers.info(name, consumer);
        const consumed = JSON.stringify({ delivered, ack_floor, num_ack_pending, num_waiting });
        const stored = `${state.first_seq} to ${state.last_seq}`;
        return [`${state.messages} wakes in ${name}, numbers ${stored}, consumer ${consumed}`];
      }),
    );
    return left.flat();
  } finally {
    await connection.close();
  }
}

/** How often each requested fact is in the memory. */
export async function readRemembered(stack: ServerAddresses, { remembered }: Journal): Promise<readonly Remembered[]> {
  const facts = await withRedis(stack, async (redis) => {
    const { document } = await redisMemoryStore(redis).read({ userId: USER, agent: LEAD_AGENT });
    return document.facts.map(({ content }) => content);
  });
  return remembered.map(({ threadId, word }) => ({
    threadId,
    word,
    count: facts.filter((fact) => fact.includes(word)).length,
  }));
}

/** Living processes that work on the stack's files, a line each. */
export function processesOf({ homeDir }: Stack): readonly string[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const isDead = /^\S+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return !isDead && line.includes(homeDir) ? [`process ${pid}: ${line.slice(0, 200)}`] : [];
    } catch {
      return []; // The process has just ended.
    }
  });
}

import { BugError } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { TurnQueue, TurnShares } from '../ports/turn-queue.js';
import type { RedisConnection } from '../redis/connection.js';
import { parsePendingMember } from '../redis/keys.js';
import { loadScript } from '../redis/scripts.js';

const scripts = { enqueue: loadScript('turns/queue-turn'), take: loadScript('turns/take-turn') };

/** After this time a user with all his slots is looked at again, in case the end of one of his runs was not counted. */
const LOOK_MS = 5_000;
/** For how long a slot counts against its user that no claim followed. */
const GRANT_MS = 10_000;
/** Maximum number of calls for one slot; each looks at a hundred entries. */
const MAX_CALLS = 50;

const NO_LIMITS: TurnShares = { maxRunningPerUser: 0, weights: {} };

/** The queue of turns in Redis. All runners must have the same shares; who only enqueues needs none. */
export function redisTurnQueue(redis: RedisConnection, shares: TurnShares = NO_LIMITS): TurnQueue {
  const { pending, turns } = redis.keys;
  const weights = Object.fromEntries(Object.entries(shares.weights).filter(([, weight]) => weight !== 1));
  const settings = {
    users: turns.users,
    threads: turns.threads,
    max_running: shares.maxRunningPerUser,
    weights,
    look_ms: LOOK_MS,
    grant_ms: GRANT_MS,
  };

  async function takeOnce(waiting: ThreadKey | undefined): Promise<readonly [outcome: string, member?: string]> {
    const named = waiting === undefined ? {} : { user: waiting.userId, thread: waiting.threadId };
    const args = [JSON.stringify({ ...settings, ...named })];
    const reply = await redis.run(scripts.take, [pending, turns.ready, turns.capped], args);
    return assertSound(reply as [string, string?]);
  }

  return {
    enqueue: async ({ userId, threadId }) => {
      const { waiting, running } = redis.keys.turnsOf(userId);
      const keys = [turns.ready, turns.capped, waiting, running];
      assertSound((await redis.run(scripts.enqueue, keys, [turns.users, userId, threadId])) as [string, string?]);
    },
    take: async (waiting) => {
      let reply = await takeOnce(waiting);
      for (let calls = 1; reply[0] === 'again' && calls < MAX_CALLS; calls += 1) reply = await takeOnce(undefined);
      const [outcome, member] = reply;
      return outcome === 'turn' && member !== undefined ? parsePendingMember(member) : null;
    },
  };
}

function assertSound<Reply extends readonly [string, string?]>(reply: Reply): Reply {
  if (reply[0] !== 'damaged') return reply;
  throw new BugError('a key of the store holds a foreign type', { details: { key: reply[1] } });
}

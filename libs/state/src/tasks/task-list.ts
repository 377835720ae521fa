import type { ThreadKey } from '@caribou/core';
import type { RedisConnection } from '../redis/connection.js';

const MAX_LISTED = 1_000;
/** A task waits for at most a day and takes at most a day; the rest is a margin for its end. */
const MAX_LIFE_MS = 49 * 3_600_000;
/** Longer than anybody waits for an answer. */
const HELD_MS = 10 * 365 * 24 * 3_600_000;

/** The lists of tasks by the thread that dispatched them, by which they are shown and deleted with it. */
export interface TaskList {
  /** Enters a task before it is created, so that none is missing; the entry outlives the task. */
  enter(parent: ThreadKey, threadId: string): Promise<void>;
  /** Keeps a list for years, until it is removed, as a task in it waits for a person. */
  hold(parent: ThreadKey, threadId: string): Promise<void>;
  /** The threads of the tasks, oldest first, at most 1,000. */
  threadsOf(parent: ThreadKey): Promise<readonly string[]>;
  remove(parent: ThreadKey): Promise<void>;
}

/** @param keptMs how long the records of a task are stored after its end */
export function taskList(redis: RedisConnection, keptMs: number): TaskList {
  const keyOf = (parent: ThreadKey): string => redis.keys.childThreads(parent);
  return {
    enter: async (parent, threadId) => {
      const key = keyOf(parent);
      await redis.use((client) =>
        client
          .multi()
          .zadd(key, 'NX', Date.now(), threadId)
          .zremrangebyrank(key, 0, -MAX_LISTED - 1)
          .pexpire(key, MAX_LIFE_MS + keptMs, 'NX')
          .pexpire(key, MAX_LIFE_MS + keptMs, 'GT')
          .exec(),
      );
    },
    hold: async (parent, threadId) => {
      const key = keyOf(parent);
      await redis.use((client) => client.multi().zadd(key, 'NX', Date.now(), threadId).pexpire(key, HELD_MS).exec());
    },
    threadsOf: (parent) => redis.use((client) => client.zrange(keyOf(parent), 0, MAX_LISTED - 1)),
    remove: async (parent) => {
      await redis.use((client) => client.unlink(keyOf(parent)));
    },
  };
}

import { newId } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { SlotLimits, TaskSlot, TaskSlots } from '../ports/task-slots.js';
import { type StoreFixture, thread, useStore, waitFor } from '@caribou/testing';
import type { RedisConnection } from '../redis/connection.js';
import { redisTaskSlots } from '../tasks/task-slots.js';

export const WIDE_LIMITS: SlotLimits = { maxRunning: 100, maxRunningPerUser: 100 };
export const noParent = { userId: 'alice', runId: newId() };

export const keyOf = ({ userId, threadId }: ThreadKey): ThreadKey => ({ userId, threadId });

/** The pending tasks of a store and their slots. */
export class TaskSlotsFixture {
  readonly tasks: RedisConnection;

  constructor(readonly store: StoreFixture) {
    this.tasks = store.redis.part('tasks');
  }

  slotsFor(leaseMs = 60_000): TaskSlots {
    return redisTaskSlots({ tasks: this.tasks, parents: this.store.redis, leaseMs });
  }

  /** Adds a pending task; those that are added first have waited longest. */
  async addPending(userId: string): Promise<ThreadKey> {
    const key = thread(userId);
    const pending = await this.tasks.use((client) => client.zcard(this.tasks.keys.pending));
    await this.tasks.use((client) => client.zadd(this.tasks.keys.pending, pending, `${userId}/${key.threadId}`));
    return key;
  }

  async addAllPending(...userIds: readonly string[]): Promise<readonly ThreadKey[]> {
    const keys: ThreadKey[] = [];
    for (const userId of userIds) keys.push(await this.addPending(userId));
    return keys;
  }

  /** Changes the pending set as the end of a run does. */
  endTask({ userId, threadId }: ThreadKey): Promise<number> {
    return this.tasks.use((client) => client.zrem(this.tasks.keys.pending, `${userId}/${threadId}`));
  }

  /** @throws Error when there is no slot */
  async take(slots: TaskSlots, limits: SlotLimits = WIDE_LIMITS): Promise<TaskSlot> {
    const slot = await slots.acquire(limits);
    if (slot === null) throw new Error('no slot was acquired');
    return slot;
  }

  async takeOneByOne(slots: TaskSlots, count: number, limits: SlotLimits = WIDE_LIMITS): Promise<TaskSlot[]> {
    const all: TaskSlot[] = [];
    for (let at = 0; at < count; at += 1) all.push(await this.take(slots, limits));
    return all;
  }

  /** The store's clock, in milliseconds. */
  storeNow(): Promise<number> {
    return this.tasks.use(async (client) => {
      const [seconds, micros] = await client.time();
      return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
    });
  }

  waitUntilAllExpired(): Promise<unknown> {
    const areExpired = async (): Promise<boolean> => {
      const nowMs = await this.storeNow();
      return (await this.tasks.use((client) => client.zcount(this.tasks.keys.slots, `(${nowMs}`, '+inf'))) === 0;
    };
    return waitFor(areExpired, { what: 'the slot to expire', everyMs: 2 });
  }

  /** Sets the end of the slot's lease to `endMs`. */
  setLeaseEnd({ userId, threadId }: TaskSlot, endMs: number): Promise<unknown> {
    return this.tasks.use((client) => client.zadd(this.tasks.keys.slots, 'XX', endMs, `${userId}/${threadId}`));
  }
}

/** Runs one Redis server for the tests of the file and opens a new store for each test. */
export function useTaskSlots(onOpen: (fixture: TaskSlotsFixture) => void): void {
  useStore((store) => onOpen(new TaskSlotsFixture(store)));
}

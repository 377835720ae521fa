import type { SlotLimits, TaskSlot } from '../ports/task-slots.js';
import { type StoreFixture, thread, useStore } from '@caribou/testing';
import fc from 'fast-check';
import { pendingMember } from '../redis/keys.js';
import { redisTaskSlots } from './task-slots.js';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

interface ModelTask {
  readonly member: string;
  readonly userId: string;
  over: boolean;
  /** The position of the end of its lease among such ends; undefined before its first slot and while it has one. */
  orphanedAt: number | undefined;
  holder: TaskSlot | undefined;
}

/** A model of the rules of slots without a store: lists and loops. */
class SlotModel {
  /** Oldest first. */
  readonly tasks: ModelTask[] = [];
  /** The position of each user's last slot among all slots. */
  private readonly served = new Map<string, number>();
  private slots = 0;

  private running(userId?: string): number {
    return this.tasks.filter(({ over, holder, ...task }) => {
      return !over && holder !== undefined && (userId === undefined || task.userId === userId);
    }).length;
  }

  next({ maxRunning, maxRunningPerUser }: SlotLimits): ModelTask | undefined {
    if (this.running() >= maxRunning) return undefined;
    const free = this.tasks.filter(
      ({ over, holder, userId }) => !over && holder === undefined && this.running(userId) < maxRunningPerUser,
    );
    const orphans = free.filter(({ orphanedAt }) => orphanedAt !== undefined);
    orphans.sort((a, b) => (a.orphanedAt ?? 0) - (b.orphanedAt ?? 0) || (a.member < b.member ? -1 : 1));
    const fewest = Math.min(...free.map(({ userId }) => this.running(userId)));
    const candidates = free.filter(({ userId }) => this.running(userId) === fewest);
    const longestAgo = Math.min(...candidates.map(({ userId }) => this.served.get(userId) ?? 0));
    return orphans[0] ?? candidates.find(({ userId }) => (this.served.get(userId) ?? 0) === longestAgo);
  }

  noteSlot({ userId }: ModelTask): void {
    this.slots += 1;
    this.served.set(userId, this.slots);
  }
}

type Operation =
  | { readonly kind: 'dispatch'; readonly user: string }
  | { readonly kind: 'take'; readonly limits: SlotLimits; readonly takers: number }
  | { readonly kind: 'end' | 'leave' | 'leaveForeign' | 'renew' | 'lapse'; readonly which: number };

const limits: fc.Arbitrary<SlotLimits> = fc.record({
  maxRunning: fc.integer({ min: 1, max: 6 }),
  maxRunningPerUser: fc.integer({ min: 1, max: 4 }),
});
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('dispatch' as const), user: fc.constantFrom('a', 'b', 'c') }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('take' as const), limits, takers: fc.integer({ min: 1, max: 5 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'end' as const,
        'leave' as const,
        'leaveForeign' as const,
        'renew' as const,
        'lapse' as const,
      ),
      which: fc.nat(),
    }),
  },
);

/** The store and the model side by side, on separate keys. */
class Driver {
  private readonly redis = store.redis.part(thread().threadId);
  private readonly slots = redisTaskSlots({ tasks: this.redis, parents: store.redis, leaseMs: 60_000 });
  private readonly model = new SlotModel();
  private ends = 0;

  async apply(step: Operation): Promise<void> {
    if (step.kind === 'dispatch') return this.dispatch(step.user);
    if (step.kind === 'take') return this.take(step.limits, step.takers);
    const task = this.model.tasks[step.which % Math.max(1, this.model.tasks.length)];
    if (task !== undefined) await this.change(step.kind, task);
  }

  private async dispatch(userId: string): Promise<void> {
    const member = pendingMember(thread(userId));
    this.model.tasks.push({ member, userId, over: false, orphanedAt: undefined, holder: undefined });
    await this.redis.use((client) => client.zadd(this.redis.keys.pending, this.model.tasks.length, member));
  }

  /** Concurrent takers together get the slots that the rules give one after the other. */
  private async take(given: SlotLimits, takers: number): Promise<void> {
    const got = await Promise.all(Array.from({ length: takers }, () => this.slots.acquire(given)));
    const expected: string[] = [];
    for (let taker = 0; taker < takers; taker += 1) {
      const task = this.model.next(given);
      if (task === undefined) break;
      expected.push(task.member);
      this.model.noteSlot(task);
      task.holder = got.find((slot) => slot !== null && pendingMember(slot) === task.member) ?? undefined;
      task.orphanedAt = undefined;
      if (task.holder === undefined) break;
    }
    expect(got.flatMap((slot) => (slot === null ? [] : [pendingMember(slot)]))).toEqual(expected);
  }

  private async change(kind: Exclude<Operation['kind'], 'dispatch' | 'take'>, task: ModelTask): Promise<void> {
    const { holder, member } = task;
    if (kind === 'end') {
      task.over = true;
      await this.redis.use((client) => client.zrem(this.redis.keys.pending, member));
    }
    if (holder === undefined || (task.over && kind !== 'leave')) return;
    if (kind === 'renew') await this.slots.renew(holder, { userId: task.userId, runId: 'none' });
    if (kind === 'leaveForeign') await this.slots.release({ ...holder, token: 'foreign' });
    if (kind === 'leave') {
      await this.slots.release(holder);
      Object.assign(task, { holder: undefined, orphanedAt: 0 });
    }
    if (kind === 'lapse') {
      this.ends += 1;
      await this.redis.use((client) => client.zadd(this.redis.keys.slots, 'XX', this.ends, member));
      Object.assign(task, { holder: undefined, orphanedAt: this.ends });
    }
  }
}

test('slots are given according to the rules, whatever happens to tasks and pools', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 60 }), async (steps) => {
      const driver = new Driver();
      for (const step of steps) await driver.apply(step);
    }),
    { numRuns: 120 },
  );
});

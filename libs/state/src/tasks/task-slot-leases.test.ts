import { FencedError, newId } from '@caribou/contracts';
import type { TaskParent } from '../ports/task-slots.js';
import { admission, thread, waitFor } from '@caribou/testing';
import { redisThreadStore } from '../thread-store.js';
import { keyOf, noParent, type TaskSlotsFixture, useTaskSlots, WIDE_LIMITS } from '../testing/task-slots-fixture.js';

let fixture: TaskSlotsFixture;

useTaskSlots((opened) => {
  fixture = opened;
});

describe('the holder of a slot', () => {
  test('retains it by renewing, beyond the time of one lease', async () => {
    const [slots, others] = [fixture.slotsFor(2_000), fixture.slotsFor()];
    await fixture.addPending('alice');
    const slot = await fixture.take(slots);
    const firstEndMs = (await fixture.storeNow()) + 2_000;

    await waitFor(
      async () => {
        await slots.renew(slot, noParent);
        return (await fixture.storeNow()) > firstEndMs;
      },
      { what: 'the end of the first lease' },
    );

    expect(await others.acquire(WIDE_LIMITS)).toBeNull();
  });

  test('renews it also after it expired, and has lost it once another took it', async () => {
    const slots = fixture.slotsFor(1);
    await fixture.addPending('alice');
    const slot = await fixture.take(slots);
    await fixture.waitUntilAllExpired();

    await expect(slots.renew(slot, noParent)).resolves.toBe('gone');
    await fixture.waitUntilAllExpired();
    expect(keyOf(await fixture.take(fixture.slotsFor()))).toEqual(keyOf(slot));
    await expect(slots.renew(slot, noParent)).rejects.toThrow(FencedError);
  });

  test('has it for one lease at most after the clock of Redis went back', async () => {
    const slots = fixture.slotsFor(60_000);
    await fixture.addPending('alice');
    const slot = await fixture.take(slots);
    await fixture.setLeaseEnd(slot, (await fixture.storeNow()) + 3_600_000);

    expect(await slots.acquire(WIDE_LIMITS)).toBeNull();

    const endMs = Number(
      await fixture.tasks.use((client) => client.zscore(fixture.tasks.keys.slots, `${slot.userId}/${slot.threadId}`)),
    );
    expect(endMs).toBeLessThanOrEqual((await fixture.storeNow()) + 60_000);
  });

  test.each(['renew', 'leave'] as const)(
    'is the only one that can %s it: a foreign token changes nothing',
    async (act) => {
      const slots = fixture.slotsFor();
      await fixture.addPending('alice');
      const slot = await fixture.take(slots);
      const before = await fixture.store.dump();
      const foreign = { ...slot, token: newId() };

      if (act === 'leave') await slots.release(foreign);
      else await expect(slots.renew(foreign, noParent)).rejects.toThrow(FencedError);

      expect(await fixture.store.dump()).toEqual(before);
      await expect(slots.renew(slot, noParent)).resolves.toBe('gone');
    },
  );

  test('cannot release a slot that another has taken since', async () => {
    const late = fixture.slotsFor(1);
    await fixture.addPending('alice');
    const old = await fixture.take(late);
    await fixture.waitUntilAllExpired();
    const slots = fixture.slotsFor();
    const current = await fixture.take(slots);

    await late.release(old);

    expect(await slots.acquire(WIDE_LIMITS)).toBeNull();
    await expect(slots.renew(current, noParent)).resolves.toBe('gone');
  });
});

describe('the state of the parent', () => {
  async function checkState(parent: TaskParent): Promise<string> {
    await fixture.addPending('alice');
    const slots = fixture.slotsFor();
    const state = await slots.renew(await fixture.take(slots), parent);
    expect(await slots.parentState(parent)).toBe(state);
    return state;
  }

  test('is returned by each renewal, and without a slot: live, over once it is asked to stop or ended, gone without a record', async () => {
    const threads = redisThreadStore(fixture.store.redis);
    const key = thread();
    const run = await fixture.store.admit(key);
    const parent = { userId: 'alice', runId: run.run_id };
    expect(await checkState(parent)).toBe('live');
    const claimed = await fixture.store.claim(key);
    expect(await checkState(parent)).toBe('live');

    await threads.requestCancel(key, run.run_id, 'interrupt');
    expect(await checkState(parent)).toBe('over');
    await fixture.store.finish(claimed, { status: 'interrupted' });
    expect(await checkState(parent)).toBe('over');

    const other = await fixture.store.turn(thread(), {});
    expect(await checkState({ userId: 'alice', runId: other.run.run_id })).toBe('over');
    expect(await checkState({ userId: 'bob', runId: run.run_id })).toBe('gone');
    await threads.deleteThread(key);
    expect(await checkState(parent)).toBe('gone');
  });

  test('is read from the parents: a task of the same id has no effect', async () => {
    const inTasks = redisThreadStore(fixture.tasks);
    const key = thread();
    const runId = newId();
    await inTasks.admit({ ...admission(key), runId });
    await fixture.endTask(key);
    expect(await checkState({ userId: 'alice', runId })).toBe('gone');
  });
});

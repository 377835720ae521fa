import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ThreadKey } from '@caribou/core';
import { type Machine, PlaneFixture } from '../../testing/plane-fixture.js';

const threads = ['t1', 't2', 't3'].map((threadId): ThreadKey => ({ userId: 'alice', threadId }));
const [oldest, middle, newest] = threads as [ThreadKey, ThreadKey, ThreadKey];

let plane: PlaneFixture;
let machine: Machine;
beforeEach(async () => {
  plane = new PlaneFixture();
  machine = plane.machine();
  for (const thread of threads) {
    await machine.refresh(thread);
    writeFileSync(join(machine.userData(thread), 'workspace/a'), thread.threadId);
    await machine.publish(thread);
  }
});
afterEach(() => plane.close());

const evict = (maxCopies: number, busy: readonly ThreadKey[] = []) =>
  machine.copies.evict({
    maxCopies,
    minFreeBytes: 0,
    headOf: (thread) => plane.generations.head(thread),
    whenIdle: async (thread, work) => {
      if (!busy.some(({ threadId }) => threadId === thread.threadId)) await work();
    },
    signal: new AbortController().signal,
  });
const isThere = (thread: ThreadKey): boolean => existsSync(machine.userData(thread));

describe('evictCopies', () => {
  test('removes the copies that were not used for longest, and they come back with the next refresh', async () => {
    await machine.refresh(oldest);
    expect(await evict(2)).toEqual({ removed: 1, held: 0 });
    expect(threads.map(isThere)).toEqual([true, false, true]);
    await machine.refresh(middle);
    expect(existsSync(join(machine.userData(middle), 'workspace/a'))).toBe(true);
  });

  test('what is not published, or in use, stays', async () => {
    writeFileSync(join(machine.userData(oldest), 'workspace/new'), 'not published');
    expect(await evict(0, [middle])).toEqual({ removed: 1, held: 2 });
    expect(threads.map(isThere)).toEqual([true, true, false]);
    await machine.publish(oldest);
    expect(await evict(0)).toEqual({ removed: 2, held: 0 });
  });

  test('copies of deleted threads go in any case, also what a killed process left of others', async () => {
    plane.generations.heads.delete(newest.threadId);
    const left = join(machine.homeDir, 'users/.evicted/left/workspace');
    mkdirSync(left, { recursive: true });
    expect(await evict(10)).toEqual({ removed: 1, held: 0 });
    expect(threads.map(isThere)).toEqual([true, true, false]);
    expect(existsSync(left)).toBe(false);
    await machine.copies.remove(oldest);
    expect(threads.map(isThere)).toEqual([false, true, false]);
  });
});

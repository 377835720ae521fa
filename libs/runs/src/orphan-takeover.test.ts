import { UnavailableError } from '@caribou/contracts';
import { silentLogger } from '@caribou/core';
import type { UnownedThread } from '@caribou/state';
import { OrphanTakeover } from './orphan-takeover.js';

const orphan = (name: string, rank = 0): UnownedThread => ({ userId: 'u', threadId: name, interrupted: true, rank });

function fixture(names: readonly string[], slots = 100) {
  let left = names;
  let nowMs = 0;
  let failing = false;
  const looks: string[][] = [];
  const taken: string[] = [];
  const takeover = new OrphanTakeover({
    store: {
      listOrphans: (dead) => {
        looks.push([...dead]);
        return failing ? Promise.reject(new UnavailableError('away')) : Promise.resolve(left.map(orphan));
      },
    },
    worker: {
      take: ({ threadId }) => {
        if (taken.length >= slots) return false;
        taken.push(threadId);
        left = left.filter((name) => name !== threadId);
        return true;
      },
    },
    clock: { monotonicMs: () => nowMs },
    logger: silentLogger,
    random: () => 0.5,
  });
  return {
    takeover,
    looks,
    taken,
    advance: (ms: number) => (nowMs += ms),
    fail: (value: boolean) => (failing = value),
  };
}

describe(OrphanTakeover, () => {
  test('takes its share of the runs of a dead process first, and then what the others have left', async () => {
    const { takeover, taken } = fixture(['a', 'b', 'c', 'd', 'e']);

    await takeover.handle({ dead: ['p'], living: 2 });
    expect(taken).toEqual(['c', 'd', 'e']);
    await takeover.handle({ dead: ['p'], living: 2 });
    expect(taken).toEqual(['c', 'd', 'e', 'b', 'a']);
  });

  test('looks no further once nothing is left, and again for the next dead process', async () => {
    const { takeover, looks } = fixture([]);

    await takeover.handle({ dead: ['p'], living: 1 });
    await takeover.handle({ dead: ['p'], living: 1 });
    await takeover.handle({ dead: ['p', 'q'], living: 1 });

    expect(looks).toEqual([['p'], ['q']]);
  });

  test('tries again while slots are taken, for half a minute', async () => {
    const { takeover, looks, taken, advance } = fixture(['a'], 0);

    await takeover.handle({ dead: ['p'], living: 1 });
    await takeover.handle({ dead: ['p'], living: 1 });
    advance(30_000);
    await takeover.handle({ dead: ['p'], living: 1 });

    expect(looks).toHaveLength(2);
    expect(taken).toEqual([]);
  });

  test('a store that is away is asked again', async () => {
    const { takeover, taken, fail } = fixture(['a']);
    fail(true);
    await takeover.handle({ dead: ['p'], living: 1 });
    fail(false);
    await takeover.handle({ dead: ['p'], living: 1 });

    expect(taken).toEqual(['a']);
  });
});

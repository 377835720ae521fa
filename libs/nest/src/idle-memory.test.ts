import { getHeapStatistics } from 'node:v8';
import { waitFor } from '@caribou/testing';
import { giveBackWhenIdle } from './idle-memory.js';

const MiB = 1024 * 1024;
const heapMiB = (): number => getHeapStatistics().total_physical_size / MiB;

/** Objects of some 60 MiB. */
const many = (): object[] => Array.from({ length: 1_000_000 }, (_, n) => ({ n, of: [n] }));

describe('giveBackWhenIdle', () => {
  let end = (): void => undefined;
  afterEach(() => end());

  test('an idle process hands back what garbage took', async () => {
    const before = heapMiB();
    let kept: object[] | undefined = many();
    expect(kept.length).toBe(1_000_000);
    kept = undefined;
    expect(heapMiB()).toBeGreaterThan(before + 30);

    end = giveBackWhenIdle({ lookMs: 50, busyShare: 0.9, grownBytes: MiB });

    await waitFor(() => heapMiB() < before + 15, { what: 'the heap to be small again' });
  });

  test('a busy process is left alone', async () => {
    const before = heapMiB();
    let kept: object[] | undefined = many();
    expect(kept.length).toBe(1_000_000);
    kept = undefined;
    const full = heapMiB();

    end = giveBackWhenIdle({ lookMs: 50, busyShare: -1, grownBytes: MiB });
    await new Promise((resolve) => setTimeout(resolve, 300));

    expect(full).toBeGreaterThan(before + 30);
    expect(heapMiB()).toBeGreaterThan(before + 30);
  });
});

import type { OrderedRun } from '@caribou/state';
import { seqBefore, toSeq } from './sequence.js';
import { MAX_REPLAYED_RUNS, nextRun, startPosition } from './thread-position.js';

const runs = (...list: readonly [ordinal: number, status: OrderedRun['status']][]): OrderedRun[] =>
  list.map(([ordinal, status]) => ({ runId: `r${ordinal}`, ordinal, status }));
const inside = (ordinal: number): number => toSeq({ ordinal, event: 5, index: 1 });
const endOf = (ordinal: number): number => toSeq({ ordinal, event: 9, index: 127 });

describe(startPosition, () => {
  test.each<[string, OrderedRun[], number | undefined, { done: number; isGap: boolean; since?: number }]>([
    ['a thread without runs', [], undefined, { done: 0, isGap: false }],
    ['the last run', runs([3, 'success'], [2, 'error']), undefined, { done: 2, isGap: false, since: seqBefore(3) }],
    ['the oldest in flight', runs([4, 'pending'], [3, 'running'], [2, 'error']), undefined, { done: 2, isGap: false }],
    ['0: everything', runs([3, 'success'], [2, 'success']), 0, { done: 0, isGap: false, since: 0 }],
    ['inside a run', runs([3, 'success'], [2, 'success']), inside(2), { done: 1, isGap: false, since: inside(2) }],
    ['inside a run that is gone', runs([3, 'success']), inside(2), { done: 2, isGap: true }],
    ['after the end of a run', runs([3, 'success'], [2, 'success']), endOf(2), { done: 2, isGap: false }],
    ['after the end of one that is gone', runs([3, 'success']), endOf(2), { done: 2, isGap: false }],
    ['before the run that a command started', runs([3, 'pending']), seqBefore(3), { done: 2, isGap: false }],
    ['beyond the newest run', runs([3, 'running']), inside(7), { done: 2, isGap: true, since: seqBefore(3) }],
  ])('%s', (_what, list, since, expected) => {
    expect(startPosition(list, since)).toMatchObject(expected);
  });

  test('beyond the number of replayed runs there is a gap', () => {
    const many = Array.from({ length: MAX_REPLAYED_RUNS }, (_, index) => [200 - index, 'success'] as const);
    expect(startPosition(runs(...many.map(([at, of]): [number, 'success'] => [at, of])), endOf(50))).toMatchObject({
      done: 50,
      isGap: true,
    });
  });
});

describe(nextRun, () => {
  test('is the oldest that is not done', () => {
    const list = runs([5, 'pending'], [4, 'running'], [2, 'success']);
    expect(nextRun(list, 0)?.ordinal).toBe(2);
    expect(nextRun(list, 2)?.ordinal).toBe(4);
    expect(nextRun(list, 5)).toBeUndefined();
  });
});

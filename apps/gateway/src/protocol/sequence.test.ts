import * as fc from 'fast-check';
import {
  fromSeq,
  isNeeded,
  LAST_INDEX,
  MAX_ORDINAL,
  seqBefore,
  seqOfEventId,
  SHARED_INDEX,
  type SequencePosition,
  toSeq,
} from './sequence.js';

const positions = fc.record({
  ordinal: fc.integer({ min: 1, max: MAX_ORDINAL }),
  event: fc.integer({ min: 0, max: 2 ** 26 - 1 }),
  index: fc.integer({ min: 0, max: LAST_INDEX }),
});

const compare = (one: SequencePosition, other: SequencePosition): number =>
  one.ordinal - other.ordinal || one.event - other.event || one.index - other.index;

describe('sequence numbers', () => {
  test('are safe integers that rise with run, event and index, and give them back', () => {
    fc.assert(
      fc.property(positions, positions, (one, other) => {
        expect(Number.isSafeInteger(toSeq(one))).toBe(true);
        expect(fromSeq(toSeq(one))).toEqual(one);
        expect(Math.sign(toSeq(one) - toSeq(other))).toBe(Math.sign(compare(one, other)));
      }),
    );
  });

  test('beyond 2^26 events of a run, or 126 of one event, are shared, and the end of the run comes after all', () => {
    const at = (event: number, index: number): number => toSeq({ ordinal: 1, event, index });
    expect(at(5, 500)).toBe(at(5, SHARED_INDEX));
    expect(at(2 ** 26 + 7, 3)).toBe(at(2 ** 26 - 1, SHARED_INDEX));
    expect(at(2 ** 26 + 7, LAST_INDEX)).toBeGreaterThan(at(2 ** 27, 0));
    expect(at(2 ** 27, LAST_INDEX)).toBeLessThanOrEqual(seqBefore(2));
  });

  test('a shared number is needed again by a client that has it, another is not', () => {
    const shared = toSeq({ ordinal: 1, event: 5, index: SHARED_INDEX });
    expect([isNeeded(shared, shared), isNeeded(shared - 1, shared - 1), isNeeded(7, 6)]).toEqual([true, false, true]);
  });

  test.each([
    ['42', 42],
    ['42:019a-checkpoint', 42],
    ['synth:0b0e4a5e-0000-4000-8000-000000000000:42', 42],
    ['', undefined],
    ['x42', undefined],
    ['42~7', undefined],
    ['99999999999999999', undefined],
    ['9'.repeat(400), undefined],
    [undefined, undefined],
  ])('the id %j holds %j', (id, seq) => {
    expect(seqOfEventId(id)).toBe(seq);
  });
});

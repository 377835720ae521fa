import fc from 'fast-check';
import { isLarge, stringifyInSlices } from './sliced-json.js';

describe(stringifyInSlices, () => {
  test('writes what JSON.stringify writes, small and large', async () => {
    const value = fc.oneof(
      fc.jsonValue(),
      fc.record({
        a: fc.constant(undefined),
        b: fc.date({ noInvalidDate: true }),
        c: fc.array(fc.constant(undefined)),
      }),
    );
    await fc.assert(
      fc.asyncProperty(value, async (small) => {
        const large = {
          first: small,
          text: 'é"'.repeat(200_000),
          list: [small, 'x'.repeat(300_000), undefined],
          small,
        };
        expect(await stringifyInSlices(small)).toBe(JSON.stringify(small));
        expect((await stringifyInSlices(large)) === JSON.stringify(large)).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  test('lets others have a turn while it writes', async () => {
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 0);
    await stringifyInSlices(Array.from({ length: 40 }, () => 'x'.repeat(300_000)));
    clearInterval(timer);
    expect(turns).toBeGreaterThan(1);
  });

  test('a large value is told from a small one without looking at all of it', () => {
    expect(isLarge({ a: ['x'.repeat(1_000)] })).toBe(false);
    expect(isLarge({ a: ['x'.repeat(300_000)] })).toBe(true);
    expect(isLarge(Array.from({ length: 100_000 }, () => 0))).toBe(true);
  });
});

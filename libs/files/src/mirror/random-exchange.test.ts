import { join } from 'node:path';
import fc from 'fast-check';
import { DATA_DIRECTORIES } from '@caribou/core';
import { temporaryFolder } from '@caribou/testing';
import { snapshotOf } from '../testing/directory-snapshot.js';
import { exchange, exchangeInPart, MirrorFixture, type MirrorSide } from '../testing/mirror-fixture.js';
import { makeChange, type RandomChange, randomChange } from '../testing/random-changes.js';

interface Turn {
  readonly by: 'manager' | 'pod';
  readonly changes: readonly RandomChange[];
  /** Steps after which the connection breaks off. */
  readonly cuts: readonly number[];
}

const turn: fc.Arbitrary<Turn> = fc.record({
  by: fc.constantFrom('manager', 'pod'),
  changes: fc.array(randomChange, { maxLength: 8 }),
  cuts: fc.array(fc.nat(12), { maxLength: 2 }),
});

const BOUNDS = { entries: 10_000, bytes: 100_000_000, fileBytes: 10_000_000 };

describe.each([
  ['that are walked', undefined, 40],
  ['that find looks through', 0, 15],
])('exchanges of two trees %s', (_how, maxWalked, numRuns) => {
  const fixture = new MirrorFixture(temporaryFolder(), BOUNDS, maxWalked);
  const rootsOf = ({ userData }: MirrorSide): string[] => DATA_DIRECTORIES.map((name) => join(userData, name));

  test('make both sides equal after each turn, whatever changed and wherever the connection was cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 6 }), async (turns) => {
        fixture.empty();
        for (const { by, changes, cuts } of turns) {
          const [from, to] = by === 'pod' ? [fixture.pod, fixture.manager] : [fixture.manager, fixture.pod];
          for (const change of changes) makeChange(rootsOf(from), change);
          const changed = snapshotOf(from.userData);
          for (const steps of cuts) await exchangeInPart(from, to, steps);
          await exchange(from, to);
          expect(snapshotOf(from.userData)).toEqual(changed);
          expect(snapshotOf(to.userData)).toEqual(changed);
        }
      }),
      { numRuns },
    );
  }, 120_000);

  test('make both sides equal within two exchanges when both have changed something at the same time', async () => {
    const changes = fc.array(randomChange, { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(changes, changes), { minLength: 1, maxLength: 4 }), async (rounds) => {
        fixture.empty();
        for (const [ofManager, ofPod] of rounds) {
          for (const change of ofManager) makeChange(rootsOf(fixture.manager), change);
          for (const change of ofPod) makeChange(rootsOf(fixture.pod), change);
          await exchange(fixture.pod, fixture.manager);
          await exchange(fixture.manager, fixture.pod);
          expect(snapshotOf(fixture.pod.userData)).toEqual(snapshotOf(fixture.manager.userData));
        }
      }),
      { numRuns },
    );
  }, 120_000);
});

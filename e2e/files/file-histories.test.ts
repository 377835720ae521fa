import fc from 'fast-check';
import { HistoryPlayer } from './histories/history-player.js';
import { history } from './histories/operations.js';
import { HistorySystem } from './histories/system.js';

/** How many histories are played, and the seed of the first; a failure prints the seed and the shortest history that fails. */
const RUNS = Number(process.env['CARIBOU_HISTORIES'] ?? 24);
const SEED = process.env['CARIBOU_HISTORY_SEED'];

/** Most that one history may take; most take less than a second. */
const HISTORY_MS = 60_000;
/** Time for all histories and, after a failure, for shorter ones that fail too: then the shortest is reported. */
const ALL_MS = 60_000 + RUNS * 6_000;

jest.setTimeout(ALL_MS + 2 * HISTORY_MS);

let system: HistorySystem;

beforeAll(async () => {
  system = await HistorySystem.start();
});
afterAll(() => system.stop());

test('whatever happens to threads, their files are those of the point that they are at', async () => {
  await fc.assert(
    fc.asyncProperty(history, (operations) => new HistoryPlayer(system).play(operations)),
    {
      numRuns: RUNS,
      timeout: HISTORY_MS,
      interruptAfterTimeLimit: ALL_MS,
      markInterruptAsFailure: true,
      ...(SEED === undefined ? {} : { seed: Number(SEED) }),
    },
  );
});

import fc from 'fast-check';
import { HistoryPlayer } from './histories/history-player.js';
import { history } from './histories/operations.js';
import { HistorySystem } from './histories/system.js';

/** How many histories are played, and the seed of the first; a failure prints the seed and the shortest history that fails. */
const RUNS = Number(process.env['CARIBOU_HISTORIES'] ?? 24);
const SEED = process.env['CARIBOU_HISTORY_SEED'];

jest.setTimeout(60_000 + RUNS * 10_000);

let system: HistorySystem;

beforeAll(async () => {
  system = await HistorySystem.start();
});
afterAll(() => system.stop());

test('whatever happens to threads, their files are those of the point that they are at', async () => {
  await fc.assert(
    fc.asyncProperty(history, (operations) => new HistoryPlayer(system).play(operations)),
    { numRuns: RUNS, ...(SEED === undefined ? {} : { seed: Number(SEED) }) },
  );
});

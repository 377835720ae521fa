import { type StoreFixture, thread, useStore } from '@caribou/testing';
import { measureBytes, type MeasuredTurn, passDeadlines, runMeasuredTurn } from '../testing/measured-turns.js';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

/** Turns after which all deadlines pass. */
const HOUR = 20;

/** Executes turns on one thread. */
async function runTurns(count: number, turn: MeasuredTurn): Promise<void> {
  const key = thread();
  for (let index = 1; index <= count; index += 1) {
    await runMeasuredTurn(store, key, turn);
    if (index % HOUR === 0) await passDeadlines(store);
  }
  await passDeadlines(store);
}

const plain: MeasuredTurn = { rounds: 0, resultBytes: 0 };
/** As a client sends it that regenerates a turn, with an Idempotency-Key. */
const withMetadata: MeasuredTurn = {
  ...plain,
  isIdempotent: true,
  metadata: {
    regenerate_from_message_id: '0f8fad5b-d9cb-469f-a165-70867728950e',
    regenerate_from_run_id: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
    regenerate_checkpoint_id: '01947a2c-5b3e-7d10-8a4f-3f2504e04f89',
  },
};
const withTools: MeasuredTurn = { rounds: 5, resultBytes: 2_048 };

/** The bounds are figures of Redis 7.0 with some percent of tolerance; docs/benchmarks-notes.md has the figures. */
describe('what a turn leaves in Redis after all deadlines', () => {
  test.each([
    ['plain turns', plain, 100, 2_400],
    ['plain turns on a thread with pruned checkpoints', plain, 200, 2_350],
    ['plain turns with metadata', withMetadata, 100, 2_800],
    ['turns with five tool calls', withTools, 10, 12_800],
    ['turns with five tool calls on a thread with pruned checkpoints', withTools, 100, 11_400],
  ])(
    '%s',
    async (_case, turn, count, maxBytes) => {
      await runTurns(count, turn);

      expect((await measureBytes(store)) / count).toBeLessThan(maxBytes);
    },
    60_000,
  );
});

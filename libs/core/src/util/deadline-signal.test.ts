import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { setTimeout as sleep } from 'node:timers/promises';
import { deadlineSignal } from './deadline-signal.js';

const DEADLINE_MS = 100;

describe('a deadline', () => {
  const collectGarbage = (() => {
    setFlagsFromString('--expose-gc');
    return runInNewContext('gc') as () => void;
  })();

  /** Rejects with the reason of a signal to which only a listener refers, after garbage was collected. */
  const abortOf = (others: readonly AbortSignal[]): Promise<never> =>
    new Promise((_, reject) => {
      const either = AbortSignal.any([...others, deadlineSignal(DEADLINE_MS)]);
      either.addEventListener('abort', () => reject(either.reason), { once: true });
    });

  test('is reported by a signal of several, though garbage was collected before', async () => {
    const checked = expect(abortOf([new AbortController().signal])).rejects.toMatchObject({
      name: 'TimeoutError',
      message: `not done within ${DEADLINE_MS} ms`,
    });
    for (let round = 0; round < 3; round += 1) {
      await sleep(1);
      collectGarbage();
    }
    await checked;
  });

  test('is not reported when another signal was earlier', async () => {
    const earlier = new AbortController();
    const aborted = abortOf([earlier.signal]);
    earlier.abort(new Error('stopped'));
    await expect(aborted).rejects.toThrow('stopped');
  });
});

import { UnavailableError } from '@caribou/contracts';
import { systemClock } from '@caribou/core';
import type { ClaimOptions, ClaimResult } from '@caribou/state';
import { claimRun } from './claim-run.js';

const key = { userId: 'alice', threadId: 't1' };
const unanswered = new UnavailableError('no answer', { details: { dependency: 'redis' } });
const refused = new UnavailableError('OOM', { details: { dependency: 'redis', noEffect: true } });

/** A store that answers claims one after the other as listed, and the last entry from then on. */
function storeWith(...answers: (ClaimResult | Error)[]) {
  const ids: string[] = [];
  const checked: (boolean | undefined)[] = [];
  let nowMs = 0;
  const clock = {
    ...systemClock,
    monotonicMs: () => nowMs,
    sleep: async (ms: number) => {
      nowMs += ms;
    },
  };
  const claim = async (_thread: unknown, claimId: string, { isChecked }: ClaimOptions = {}): Promise<ClaimResult> => {
    checked.push(isChecked);
    const answer = answers[Math.min(ids.length, answers.length - 1)] ?? unanswered;
    ids.push(claimId);
    nowMs += 1_000;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { ports: { store: { claim }, clock, random: () => 0.5 }, ids, checked };
}

describe(claimRun, () => {
  test('repeats a claim of unknown outcome under the same id, and counts the lease from the last request', async () => {
    const { ports, ids } = storeWith(unanswered, refused, { kind: 'idle' });

    const { claimed, sentMs } = await claimRun(ports, key);

    expect(claimed).toEqual({ kind: 'idle' });
    expect(new Set(ids).size).toBe(1);
    expect(ids).toHaveLength(3);
    expect(sentMs).toBe(3_000);
  });

  test('the claim of an offered thread leaves the check of keys to its admission, but not when it is repeated', async () => {
    const { ports, checked } = storeWith(unanswered, { kind: 'idle' });

    await claimRun(ports, key, { isOffered: true });

    expect(checked).toEqual([true, false]);
  });

  test('does not repeat a claim that certainly had no effect', async () => {
    const { ports, ids } = storeWith(refused);

    await expect(claimRun(ports, key)).rejects.toBe(refused);
    expect(ids).toHaveLength(1);
  });

  test('gives up after 15 seconds, and at once on a defect', async () => {
    const { ports, ids } = storeWith(unanswered);

    await expect(claimRun(ports, key)).rejects.toBe(unanswered);
    expect(ids).toHaveLength(11);
    const defect = new Error('a defect');
    await expect(claimRun(storeWith(defect).ports, key)).rejects.toBe(defect);
  });
});

import { ExtensionError, FencedError } from '@caribou/contracts';
import { RunCancelled } from '@caribou/core';
import { type FakeRun, fakeRun } from '@caribou/testing';
import { type Guard, runGuarded } from './hook-guard.js';

const never = new Promise<never>(() => undefined);
const late = new Error('late');

const inGuard = <T>(work: (guard: Guard) => Promise<T>, run: FakeRun = fakeRun(), timeoutMs = 60_000): Promise<T> =>
  runGuarded(
    {
      speaker: { kind: 'middleware' as const, name: 'probe', place: 'beforeModel' },
      run,
      timeoutMs,
      toFailure: (error) => new Error('failed', { cause: error }),
      createTimeoutError: () => late,
    },
    work,
  );

describe(runGuarded, () => {
  test('the result of the work is given on', async () => {
    expect(await inGuard(() => Promise.resolve(7))).toBe(7);
  });

  test("the work's own error is translated, thrown at once or later", async () => {
    const wrong = new TypeError('x is not a function');

    await expect(inGuard(() => Promise.reject(wrong))).rejects.toMatchObject({ message: 'failed', cause: wrong });
    await expect(
      inGuard(async () => {
        await Promise.resolve();
        throw wrong;
      }),
    ).rejects.toMatchObject({ cause: wrong });
  });

  test('work that never returns ends at its deadline, and its signal says so', async () => {
    let seen: AbortSignal | undefined;
    const work = (guard: Guard): Promise<never> => {
      seen = guard.signal;
      return never;
    };

    await expect(inGuard(work, fakeRun(), 5)).rejects.toBe(late);
    expect(seen?.reason).toBe(late);
  });

  test('a cancel ends work that does not listen, with its own reason', async () => {
    const run = fakeRun();
    const reason = new RunCancelled('interrupt');
    const ended = inGuard(() => never, run);
    run.abort(reason);

    await expect(ended).rejects.toBe(reason);
    await expect(inGuard(() => Promise.resolve(1), run)).rejects.toBe(reason);
  });

  test('what fails outside passes as it is', async () => {
    const fenced = new FencedError('lost');
    const refused = new ExtensionError('wrong answer');

    await expect(inGuard((guard) => guard.outside(() => Promise.reject(fenced)))).rejects.toBe(fenced);
    await expect(inGuard(() => Promise.reject(refused))).rejects.toBe(refused);
  });

  test('the time outside does not count', async () => {
    jest.useFakeTimers();
    try {
      let answer: (words: string) => void = () => undefined;
      const slow = new Promise<string>((resolve) => (answer = resolve));
      const guarded = inGuard((guard) => guard.outside(() => slow), fakeRun(), 20);
      await jest.advanceTimersByTimeAsync(60);
      answer('done');

      expect(await guarded).toBe('done');
    } finally {
      jest.useRealTimers();
    }
  });

  test('the clock continues after the time outside', async () => {
    const work = async (guard: Guard): Promise<never> => {
      await guard.outside(() => Promise.resolve());
      return never;
    };
    await expect(inGuard(work, fakeRun(), 5)).rejects.toBe(late);
  });

  test('work that was started outside without await is awaited, and its failure is reported', async () => {
    const done: string[] = [];
    const forget = (work: () => Promise<unknown>) =>
      inGuard((guard) => {
        void guard.outside(work);
        return Promise.resolve('answer');
      });

    expect(await forget(() => Promise.resolve().then(() => done.push('told')))).toBe('answer');
    expect(done).toEqual(['told']);
    await expect(forget(() => Promise.reject(new FencedError('lost')))).rejects.toBeInstanceOf(FencedError);
  });

  test('nothing is done outside for work that has ended', async () => {
    let guardAfterEnd: Guard | undefined;
    await inGuard((guard) => {
      guardAfterEnd = guard;
      return Promise.resolve();
    });

    await expect(guardAfterEnd?.outside(() => Promise.resolve())).rejects.toThrow(
      "'probe' went on after its beforeModel had ended",
    );
  });
});

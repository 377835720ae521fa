import { FencedError, UnavailableError } from '@caribou/contracts';
import { type Clock, RunCancelled, RunLost, type SandboxPort, type SandboxScope } from '@caribou/core';
import { fakeSandbox } from '@caribou/testing';
import { createBorrowedSandbox } from './borrowed-sandbox.js';

const TASK: SandboxScope = { userId: 'alice', threadId: 'task', epoch: 77 };
const LENDER = { userId: 'alice', threadId: 'lender' };
const request = { key: 'r:c', command: 'make', timeout_ms: 1, max_output_bytes: 1 };
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A clock whose waits end when the test says so. */
class HandClock implements Clock {
  readonly waits: { readonly ms: number; readonly ring: () => void; over: boolean }[] = [];
  now = (): number => 0;
  monotonicMs = (): number => 0;
  sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const wait = { ms, ring: () => resolve(), over: false };
      const stop = (): void => {
        wait.over = true;
        reject(signal?.reason as Error);
      };
      this.waits.push(wait);
      signal?.addEventListener('abort', stop);
      if (signal?.aborted === true) stop();
    });

  /** Ends the newest wait. */
  async pass(): Promise<void> {
    this.waits.at(-1)?.ring();
    await turn();
    await turn();
  }
}

interface Call {
  readonly scope: SandboxScope;
  readonly request: unknown;
  readonly signal: AbortSignal;
  readonly answer: (outcome: unknown) => void;
  readonly fail: (error: unknown) => void;
}

/** A sandbox whose commands end when the test says so, or when they are told to stop, unless they are deaf. */
function lent(epochs: { current: number | Error } = { current: 5 }, { deaf = false } = {}) {
  const calls: Call[] = [];
  const clock = new HandClock();
  const exec = (scope: SandboxScope, asked: unknown, signal: AbortSignal): Promise<never> =>
    new Promise((resolve, reject) => {
      calls.push({ scope, request: asked, signal, answer: resolve as () => void, fail: reject });
      if (!deaf) signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  const asked: unknown[] = [];
  const sandbox = createBorrowedSandbox({
    sandbox: { ...fakeSandbox(), exec },
    lenderOf: () => LENDER,
    currentEpoch: (key) => {
      asked.push(key);
      return epochs.current instanceof Error ? Promise.reject(epochs.current) : Promise.resolve(epochs.current);
    },
    clock,
  });
  const stop = new AbortController();
  const running = (): Promise<unknown> => {
    const result = sandbox.exec(TASK, request, stop.signal);
    result.catch(() => undefined);
    return result;
  };
  return { sandbox, calls, clock, stop, epochs, asked, running };
}

describe(createBorrowedSandbox, () => {
  test('a call is the lender’s, with the epoch it has now', async () => {
    const { calls, running, asked } = lent();
    const result = running();
    await turn();

    expect(calls).toMatchObject([{ scope: { ...LENDER, epoch: 5 }, request }]);
    expect(asked).toEqual([LENDER]);
    calls[0]?.answer('made');
    expect(await result).toBe('made');
  });

  test('while nobody owns the lender calls wait, and are made once somebody does', async () => {
    const { calls, clock, epochs, running } = lent({ current: 0 });
    const result = running();
    await turn();
    await clock.pass();
    await clock.pass();
    expect(calls).toEqual([]);

    epochs.current = 8;
    await clock.pass();

    expect(calls).toMatchObject([{ scope: { epoch: 8 } }]);
    calls[0]?.answer('made');
    expect(await result).toBe('made');
  });

  test('the end of the task ends such a wait with its reason', async () => {
    const { calls, stop, running } = lent({ current: 0 });
    const result = running();
    await turn();
    const reason = new RunCancelled('interrupt');

    stop.abort(reason);

    await expect(result).rejects.toBe(reason);
    expect(calls).toEqual([]);
  });

  test('when the lender gets another owner the call under way is let go without a cancel, and is made again as the same', async () => {
    const { calls, clock, epochs, running } = lent();
    const result = running();
    await turn();
    await clock.pass();
    expect(calls).toHaveLength(1);

    epochs.current = 6;
    await clock.pass();
    expect(calls[0]?.signal.reason).toBeInstanceOf(RunLost);
    await clock.pass();

    expect(calls[1]).toMatchObject({ scope: { ...LENDER, epoch: 6 }, request });
    calls[1]?.answer('made');
    expect(await result).toBe('made');
  });

  test('a lender without an owner, or a store that is away, disturbs no call under way, nor the look at it', async () => {
    const { calls, clock, epochs, running } = lent();
    const result = running();
    await turn();
    epochs.current = 0;
    await clock.pass();
    epochs.current = new UnavailableError('away');
    await clock.pass();
    epochs.current = 5;
    await clock.pass();
    expect(calls).toHaveLength(1);
    expect(calls[0]?.signal.aborted).toBe(false);

    epochs.current = 6;
    await clock.pass();
    await clock.pass();
    expect(calls[1]).toMatchObject({ scope: { epoch: 6 } });
    calls[1]?.answer('made');
    expect(await result).toBe('made');
  });

  test('a call that came with an epoch of the past is made again with the current one', async () => {
    const { calls, clock, epochs, running } = lent();
    const result = running();
    await turn();

    epochs.current = 6;
    calls[0]?.fail(new FencedError('not the current epoch'));
    await turn();
    await clock.pass();

    expect(calls[1]).toMatchObject({ scope: { epoch: 6 }, request });
    calls[1]?.answer('made');
    expect(await result).toBe('made');
  });

  test('a cancel reaches the call as a cancel, with the epoch that counts', async () => {
    const { calls, clock, epochs, stop, running } = lent();
    const result = running();
    await turn();
    epochs.current = 6;
    await clock.pass();
    await clock.pass();
    const reason = new RunCancelled('interrupt');

    stop.abort(reason);

    await expect(result).rejects.toBe(reason);
    expect(calls).toHaveLength(2);
    expect(calls[1]?.scope.epoch).toBe(6);
    expect(calls[1]?.signal.reason).toBe(reason);
  });

  test('a call that fails in its own way on a cancel ends with the cancel', async () => {
    const stop = new AbortController();
    const reason = new RunCancelled('interrupt');
    const exec = (): Promise<never> => {
      stop.abort(reason);
      return Promise.reject(new UnavailableError('gone meanwhile'));
    };
    const borrowed = createBorrowedSandbox({
      sandbox: { ...fakeSandbox(), exec },
      lenderOf: () => LENDER,
      currentEpoch: () => Promise.resolve(5),
      clock: new HandClock(),
    });

    await expect(borrowed.exec(TASK, request, stop.signal)).rejects.toBe(reason);
  });

  test('a failure of the sandbox is a failure of the call', async () => {
    const { calls, running } = lent();
    const result = running();
    await turn();
    const error = new UnavailableError('no sandbox-manager');

    calls[0]?.fail(error);

    await expect(result).rejects.toBe(error);
    expect(calls).toHaveLength(1);
  });

  test('nobody looks at the lender any more once the call is over', async () => {
    const { calls, clock, running } = lent();
    const result = running();
    await turn();
    expect(clock.waits).toMatchObject([{ ms: 1_000, over: false }]);

    calls[0]?.answer('made');
    await result;

    expect(clock.waits).toMatchObject([{ over: true }]);
  });

  test('the sandbox stays the lender’s: a task has no binding and gives nothing back', async () => {
    const sandbox = fakeSandbox();
    await sandbox.exec(TASK, request, new AbortController().signal);
    const borrowed = createBorrowedSandbox({
      sandbox,
      lenderOf: () => LENDER,
      currentEpoch: () => Promise.resolve(5),
      clock: new HandClock(),
    });

    await borrowed.release(TASK);

    expect(sandbox.released).toEqual([]);
    expect(borrowed.binding(TASK)).toBeUndefined();
  });

  test('a task is not over before its commands that are stopped have been told to end', async () => {
    const { sandbox, calls, running, stop } = lent({ current: 5 }, { deaf: true });
    const result = running();
    await turn();
    let released = false;
    await sandbox.release(TASK);

    stop.abort(new RunCancelled('interrupt'));
    await sandbox.release({ ...TASK, threadId: 'another' });
    const release = sandbox.release(TASK).then(() => (released = true));
    await turn();
    expect(released).toBe(false);

    calls[0]?.fail(new RunCancelled('interrupt'));
    await release;
    await expect(result).rejects.toThrow(RunCancelled);
  });

  const lentCalls = ['exec', 'read', 'write', 'edit', 'list', 'glob', 'grep', 'readBytes', 'stat', 'blocked'] as const;

  test.each(lentCalls)('%s goes to the lender', async (name) => {
    const seen: unknown[] = [];
    const listens = (...args: readonly unknown[]) => {
      seen.push(args.slice(0, 2));
      return Promise.resolve('answer');
    };
    const sandbox = { ...fakeSandbox(), [name]: listens } as SandboxPort;
    const borrowed = createBorrowedSandbox({
      sandbox,
      lenderOf: () => LENDER,
      currentEpoch: () => Promise.resolve(5),
      clock: new HandClock(),
    });
    const call = borrowed[name] as (...args: unknown[]) => Promise<unknown>;

    expect(await call(TASK, request, new AbortController().signal)).toBe('answer');
    expect(seen).toEqual([[{ ...LENDER, epoch: 5 }, request]]);
  });
});

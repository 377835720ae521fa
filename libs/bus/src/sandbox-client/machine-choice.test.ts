import { DeadlineError, machineSubject, SandboxAcquire, UnavailableError } from '@caribou/contracts';
import { type Clock, silentLogger, systemClock } from '@caribou/core';
import type { RpcClient } from '../connection/procedures.js';
import { createRemoteSandbox } from './remote-sandbox.js';

const scope = { userId: 'default', threadId: 't1', epoch: 1 };
const { signal } = new AbortController();
const onAny = { sandbox_id: 'box', manager_id: 'any', driver: 'bwrap' };
const onMachine = { sandbox_id: 'box', manager_id: 'there', driver: 'bwrap' };

/** Answers requests for a sandbox; every manager answers reads by its subject. */
function sandboxOf(atMachine: () => unknown, waitMs?: number, clock: Clock = systemClock) {
  const asked: { subject: string; elsewhere: boolean }[] = [];
  const rpc: RpcClient = {
    call: async ({ contract, subject = contract.name }, payload) => {
      await Promise.resolve();
      if (contract.name !== SandboxAcquire.name)
        return contract.reply.parse({ outcome: 'ok', base64: '', bytes: 0, total_bytes: subject.length });
      const elsewhere = (payload as { elsewhere?: boolean }).elsewhere === true;
      asked.push({ subject, elsewhere });
      if (subject === machineSubject('m-2')) return contract.reply.parse(atMachine());
      return contract.reply.parse(elsewhere ? { machine: 'm-2', wait_ms: waitMs } : onAny);
    },
  };
  const sandbox = createRemoteSandbox({
    bus: { ...rpc, connected: true, subscribeOutput: () => () => undefined },
    registry: { isManagerAlive: () => Promise.resolve(true), binding: () => Promise.resolve(null) },
    journal: { find: () => Promise.resolve({ state: 'new' }), withdraw: () => Promise.resolve({ state: 'withdrawn' }) },
    logger: silentLogger,
    clock,
  });
  const read = () => sandbox.readBytes(scope, { path: '/mnt/user-data/workspace/a', offset: 0, max_bytes: 10 }, signal);
  return { asked, read };
}

describe('the machine that has the files of a thread', () => {
  test('gets the thread when one of its managers answers', async () => {
    const { asked, read } = sandboxOf(() => onMachine);
    expect(await read()).toMatchObject({ outcome: 'ok' });
    expect(asked).toEqual([
      { subject: 'sandbox.acquire', elsewhere: true },
      { subject: 'sandbox.acquire.m-2', elsewhere: false },
    ]);
  });

  test.each([
    ['nobody is there', new UnavailableError('nobody answers', { details: { dependency: 'nats' } })],
    ['it is too slow', new DeadlineError('no answer in time', { details: { afterMs: 2_000 } })],
  ])('is passed over when %s', async (_case, error) => {
    const { asked, read } = sandboxOf(() => {
      throw error;
    });
    expect(await read()).toMatchObject({ outcome: 'ok' });
    expect(asked.map(({ subject, elsewhere }) => [subject, elsewhere])).toEqual([
      ['sandbox.acquire', true],
      ['sandbox.acquire.m-2', false],
      ['sandbox.acquire', false],
    ]);
  });

  /** Passes time by its waits only. */
  const waitingClock = () => {
    const clock = { nowMs: 0, now: () => clock.nowMs, monotonicMs: () => clock.nowMs };
    const sleep = async (ms: number): Promise<void> => {
      await Promise.resolve();
      clock.nowMs += ms;
    };
    return Object.assign(clock, { sleep });
  };
  const nobody = new UnavailableError('nobody answers', { details: { dependency: 'nats' } });

  test('is waited for when it has changes that are not stored', async () => {
    const clock = waitingClock();
    const { asked, read } = sandboxOf(
      () => {
        if (clock.nowMs < 9_000) throw nobody;
        return onMachine;
      },
      10_000,
      clock,
    );
    expect(await read()).toMatchObject({ outcome: 'ok' });
    expect(asked.filter(({ subject }) => subject === 'sandbox.acquire')).toHaveLength(1);
  });

  test('is passed over when it does not come back in that time', async () => {
    const clock = waitingClock();
    const { asked, read } = sandboxOf(
      () => {
        throw nobody;
      },
      10_000,
      clock,
    );
    expect(await read()).toMatchObject({ outcome: 'ok' });
    expect(clock.nowMs).toBeGreaterThanOrEqual(10_000);
    expect(asked.at(-1)).toEqual({ subject: 'sandbox.acquire', elsewhere: false });
  });
});

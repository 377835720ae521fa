import { BugError, DeadlineError, RateLimitedError, SandboxAcquire, UnavailableError } from '@caribou/contracts';
import { type Clock, type ExecutionState, RunDraining, type SandboxPort, silentLogger } from '@caribou/core';
import { createRemoteSandbox } from './remote-sandbox.js';
import type { RpcClient } from '../connection/procedures.js';

const scope = { userId: 'default', threadId: 't1', epoch: 7 };
const command = { key: 'run:call', command: 'echo once >> ledger', timeout_ms: 600_000, max_output_bytes: 2_048 };
const append = { key: 'run:call', path: '/mnt/user-data/workspace/x', content: 'x', append: true };
const DONE = {
  outcome: 'done',
  exit_code: 0,
  stdout: 'out',
  stderr: '',
  truncated_bytes: 0,
  timed_out: false,
  cancelled: false,
  duration_ms: 3,
};
const { signal } = new AbortController();

const away = (message: string, dependency = 'nats'): UnavailableError =>
  new UnavailableError(message, { details: { dependency } });

/** What a remote sandbox reaches, in memory; time passes only in its waits. */
class World {
  nowMs = 0;
  connected = true;
  managerAlive = true;
  /** What the journal knows. */
  known: ExecutionState = { state: 'new' };
  /** Runs before each look at the journal. */
  onLook: () => void = () => undefined;
  /** What a manager answers to anything but an acquire. */
  answer: (timeoutMs: number) => unknown = () => DONE;
  acquires = true;

  readonly clock: Clock = {
    now: () => this.nowMs,
    monotonicMs: () => this.nowMs,
    sleep: async (ms, stop) => {
      await new Promise((resolve) => setImmediate(resolve));
      stop?.throwIfAborted();
      this.nowMs += ms;
    },
  };

  readonly rpc: RpcClient = {
    call: async ({ contract }, _payload, options) => {
      await Promise.resolve();
      if (!this.connected) throw away('NATS: not connected');
      if (contract.name !== SandboxAcquire.name)
        return contract.reply.parse(this.answer(options?.timeoutMs ?? contract.timeoutMs));
      if (!this.acquires) throw away('NATS: nobody answers on sandbox.acquire');
      return contract.reply.parse({ sandbox_id: 'box-1', manager_id: 'm1', driver: 'bwrap' });
    },
  };

  look(): ExecutionState {
    this.onLook();
    return this.known;
  }
}

function sandboxIn(world: World): SandboxPort {
  return createRemoteSandbox({
    bus: {
      ...world.rpc,
      get connected() {
        return world.connected;
      },
      subscribeOutput: () => () => undefined,
    },
    registry: { isManagerAlive: async () => world.managerAlive, binding: async () => null },
    journal: {
      find: async () => world.look(),
      withdraw: async (_thread, _call, result) => {
        const known = world.look();
        if (known.state !== 'new') return known;
        world.known = { state: 'done', result };
        return { state: 'withdrawn' };
      },
    },
    logger: silentLogger,
    clock: world.clock,
  });
}

describe('a sandbox call whose manager does not answer', () => {
  let world: World;
  let sandbox: SandboxPort;

  beforeEach(() => {
    world = new World();
    sandbox = sandboxIn(world);
  });

  /** The manager reports to the journal once so much time has passed. */
  const reportsAfter = (ms: number): void => {
    world.known = { state: 'running', managerId: 'm1' };
    world.onLook = () => {
      if (world.nowMs >= ms) world.known = { state: 'done', result: DONE };
    };
  };

  test('while NATS is away the result comes from the journal', async () => {
    world.connected = false;
    reportsAfter(5_000);

    expect(await sandbox.exec(scope, command, signal)).toMatchObject({ outcome: 'done', stdout: 'out' });
  });

  test('without NATS for 20 s the run is handed over, whatever it had asked for', async () => {
    world.connected = false;
    reportsAfter(60_000);

    await expect(sandbox.exec(scope, command, signal)).rejects.toThrow(RunDraining);
    await expect(sandbox.read(scope, { path: '/x', max_bytes: 9 }, signal)).rejects.toThrow(RunDraining);
  });

  test('a command of a manager that lives, but cannot be reached, is waited for until it is reported', async () => {
    world.answer = () => {
      throw away('NATS: nobody answers on sandbox.m1.exec');
    };
    reportsAfter(300_000);

    expect(await sandbox.exec(scope, command, signal)).toMatchObject({ outcome: 'done' });
    expect(world.nowMs).toBeGreaterThanOrEqual(300_000);
  });

  test('a write that was started and not answered in time is unknown, one that was not started fails', async () => {
    world.answer = (timeoutMs) => {
      world.nowMs += timeoutMs;
      throw new DeadlineError('no reply', { details: { afterMs: timeoutMs } });
    };
    world.known = { state: 'running', managerId: 'm1' };
    expect(await sandbox.write(scope, append, signal)).toMatchObject({ outcome: 'unknown' });
    const edit = { key: 'run:call', path: '/x', old_text: 'a', new_text: 'b', replace_all: false };
    expect(await sandbox.edit(scope, edit, signal)).toMatchObject({ outcome: 'unknown' });

    world.known = { state: 'new' };
    await expect(sandbox.write(scope, append, signal)).rejects.toThrow(/nothing was started/);
  });

  test('a call that fails as not started is one that no manager will start', async () => {
    world.acquires = false;

    await expect(sandbox.exec(scope, command, signal)).rejects.toThrow(/nobody answers .*nothing was started/);

    expect(world.known).toMatchObject({ state: 'done', result: { outcome: 'unknown' } });
  });

  test('what a manager had started that is gone, with no other to ask, is unknown', async () => {
    world.acquires = false;
    world.managerAlive = false;
    world.known = { state: 'running', managerId: 'gone' };

    expect(await sandbox.exec(scope, command, signal)).toMatchObject({ outcome: 'unknown' });
  });

  test('when neither manager nor journal answers, the run is handed over', async () => {
    world.acquires = false;
    world.onLook = () => {
      throw away('redis', 'redis');
    };

    await expect(sandbox.exec(scope, command, signal)).rejects.toThrow(RunDraining);
  });

  test('a defect behind a command that was started makes its outcome unknown', async () => {
    world.known = { state: 'running', managerId: 'm1' };
    world.answer = () => {
      throw new BugError('the reply breaks the contract');
    };

    await expect(sandbox.exec(scope, command, signal)).resolves.toMatchObject({ outcome: 'unknown' });
  });

  test("a manager's refusal to start a command stays a failure", async () => {
    world.answer = () => {
      throw new RateLimitedError('too many executions at once');
    };

    await expect(sandbox.exec(scope, command, signal)).rejects.toThrow(RateLimitedError);
    expect(world.known).toEqual({ state: 'new' });
  });
});

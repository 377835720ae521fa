import { type Clock, silentLogger, systemClock } from '@caribou/core';
import { chooseAmong } from '@caribou/sandbox';
import type { Execution } from '../executions/execution.js';
import { Executor } from '../executions/executor.js';
import { SHARED_FILES } from '../files/thread-file-sync.js';
import { FinishedExecutions } from '../executions/finished-executions.js';
import { createCommandExecution } from '../rpc/sandbox-commands.js';
import { SandboxPool } from '../executions/sandbox-pool.js';
import type { FakeDriver } from './fake-driver.js';
import type { InMemoryRegistry } from './in-memory-registry.js';

export const thread = { userId: 'default', threadId: 't1' };

export interface TestManager {
  readonly managerId: string;
  readonly pool: SandboxPool;
  readonly executor: Executor;
  readonly lease: { readonly managerId: string; held: boolean; isHeld(): boolean };
}

/** A manager over fakes, with its lease taken. */
export function testManager(
  managerId: string,
  registry: InMemoryRegistry,
  driver: FakeDriver,
  clock: Clock = systemClock,
): TestManager {
  registry.alive.add(managerId);
  const lease = { managerId, held: true, isHeld: () => lease.held };
  const pool = new SandboxPool({
    managerId,
    registry,
    clock,
    logger: silentLogger,
    drivers: chooseAmong([driver], 'auto', clock),
    sandboxIdOf: ({ threadId }) => `sandbox-${threadId}`,
    maxSandboxes: 2,
    idleMs: 60_000,
    maxWaiting: 3,
    graceMs: 20,
  });
  const executor = new Executor({
    journal: registry,
    registry,
    pool,
    files: SHARED_FILES,
    lease,
    clock,
    logger: silentLogger,
    finished: new FinishedExecutions(),
    maxRunning: 20,
  });
  return { managerId, pool, executor, lease };
}

/** A command of the test thread as its execution. */
export function commandOf(
  command: string,
  options: { key?: string; epoch?: number; threadId?: string } = {},
): Execution<unknown> {
  const request = {
    user_id: 'default',
    thread_id: options.threadId ?? 't1',
    epoch: options.epoch ?? 1,
    sandbox_id: `sandbox-${options.threadId ?? 't1'}`,
    key: options.key ?? 'run:call',
    args_hash: `hash of ${command}`,
    command,
    timeout_ms: 1000,
    max_output_bytes: 1024,
  };
  return createCommandExecution(request, { publishOutput: () => undefined }, systemClock);
}

/** Waits for a condition that the code under test brings about. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

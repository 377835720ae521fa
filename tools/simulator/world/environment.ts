import { createRemoteSandbox, createRpcClient } from '@caribou/bus';
import { type AnyTool, defineTool, type Logger, type SandboxPort, type SandboxRegistry } from '@caribou/core';
import { type SlotLimits, RedisConnection, redisExecutionJournal, redisSandboxRegistry } from '@caribou/state';
import { createMetrics } from '@caribou/observability';
import { z } from 'zod';
import type { SimBus } from '../virtual/bus.js';
import type { History } from './history.js';
import type { Ledger, Machine } from '../virtual/machine.js';
import type { ModelParts } from '../virtual/model.js';
import { withCallNames, type Network } from '../virtual/network.js';
import type { Sabotage } from '../virtual/sabotage.js';
import type { SimProcess } from '../virtual/scheduler.js';
import { KEY_PREFIX } from '../virtual/virtual-redis.js';
import type { WakeQueue } from '../virtual/wake-queue.js';

/** How much the processes of one history do at once. */
export interface Sizes {
  /** Runs take long, runners have one slot each, and dead processes restart later. */
  readonly crowded: boolean;
  /** Runs of one agent-runner. */
  readonly runnerSlots: number;
  /** Threads of one user with a run under way; 0: no limit. */
  readonly maxRunningPerUser: number;
  /** Tasks of one subagent-pool. */
  readonly poolSlots: number;
  /** Tasks of all pools. */
  readonly tasks: SlotLimits;
}

/** The environment of simulated processes. */
export interface SimEnvironment extends ModelParts {
  readonly network: Network;
  readonly bus: SimBus;
  readonly wakes: WakeQueue;
  readonly taskWakes: WakeQueue;
  readonly ledger: Ledger;
  readonly machine: Machine;
  readonly history: History;
  readonly sizes: Sizes;
  /** Whether agents hand tasks to subagents. */
  readonly hasTasks: boolean;
  readonly options: { readonly sabotage: Sabotage | undefined };
  readonly loggerOf: (process: SimProcess) => Logger;
}

export const metrics = createMetrics({ service: 'simulator' });

/** The store with the connection of the process. */
export const storeOf = (world: SimEnvironment, process: SimProcess): RedisConnection =>
  new RedisConnection(world.network.link(process), KEY_PREFIX);

/** The managers and their journal with the connections of a process that runs agents. */
export function sandboxOf(
  { bus, loggerOf }: SimEnvironment,
  process: SimProcess,
  redis: RedisConnection,
): { readonly sandbox: SandboxPort; readonly managers: SandboxRegistry } {
  const managers = withCallNames('managers', redisSandboxRegistry(redis));
  const sandbox = createRemoteSandbox({
    bus: {
      ...createRpcClient(bus.requestOf(process)),
      subscribeOutput: () => () => undefined,
      get connected() {
        return !bus.isCut(process);
      },
    },
    registry: managers,
    journal: withCallNames('journal', redisExecutionJournal(redis)),
    logger: loggerOf(process),
  });
  return { sandbox, managers };
}

/** A tool with an external effect, like that of an MCP server or an operator. */
export function effectTool({ scheduler, faults, ledger, kill }: SimEnvironment, process: SimProcess): AnyTool {
  return defineTool({
    name: 'effect',
    group: 'effect',
    description: 'Has an effect.',
    input: z.object({ token: z.string() }),
    async run({ token }) {
      if (faults.killsAt(process.role, 'effect:before')) kill(process);
      await new Promise<void>((resolve) => {
        scheduler.after(scheduler.random.between(1, 500), undefined, `effect ${token}`, () => {
          ledger.add(token, 'call', process);
          if (process.alive && faults.killsAt(process.role, 'effect:executed')) kill(process);
          scheduler.after(scheduler.random.between(1, 500), process, 'effect answered', resolve);
        });
      });
      return { content: token };
    },
  });
}

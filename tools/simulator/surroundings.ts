import { createRemoteSandbox, createRpcClient } from '@caribou/bus';
import {
  type AnyTool,
  defineTool,
  type Logger,
  type SandboxPort,
  type SandboxRegistry,
  type SlotLimits,
} from '@caribou/core';
import { createMetrics } from '@caribou/observability';
import { RedisConnection, redisExecutionJournal, redisSandboxRegistry } from '@caribou/state';
import { z } from 'zod';
import type { SimBus } from './bus.js';
import type { History } from './history.js';
import type { Ledger, Machine } from './machine.js';
import type { ModelParts } from './model.js';
import { named, type Network } from './network.js';
import type { Sabotage } from './sabotage.js';
import type { SimProcess } from './scheduler.js';
import { KEY_PREFIX } from './virtual-redis.js';
import type { WakeQueue } from './wake-queue.js';

/** How much the processes of one history do at once. */
export interface Sizes {
  /** Runs take long, runners have one slot each, and who dies stays away for a while. */
  readonly crowded: boolean;
  /** Runs of one agent-runner. */
  readonly runnerSlots: number;
  /** Tasks of one subagent-pool. */
  readonly poolSlots: number;
  /** Tasks of all pools. */
  readonly tasks: SlotLimits;
}

/** What processes find around them. */
export interface Surroundings extends ModelParts {
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

/** The store as the process reaches it. */
export const storeOf = (world: Surroundings, process: SimProcess): RedisConnection =>
  new RedisConnection(world.network.link(process), KEY_PREFIX);

/** The managers and their journal as a process that runs agents reaches them. */
export function sandboxOf(
  { bus, loggerOf }: Surroundings,
  process: SimProcess,
  redis: RedisConnection,
): { readonly sandbox: SandboxPort; readonly managers: SandboxRegistry } {
  const managers = named('managers', redisSandboxRegistry(redis));
  const sandbox = createRemoteSandbox({
    bus: {
      ...createRpcClient(bus.requestOf(process)),
      subscribeOutput: () => () => undefined,
      get connected() {
        return !bus.isCut(process);
      },
    },
    ...{ registry: managers, journal: named('journal', redisExecutionJournal(redis)), logger: loggerOf(process) },
  });
  return { sandbox, managers };
}

/** A tool with an effect elsewhere, as an MCP server or an operator's tool has. */
export function effectTool({ scheduler, faults, ledger, kill }: Surroundings, process: SimProcess): AnyTool {
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

import { join } from 'node:path';
import type * as buses from '@caribou/bus';
import type * as contracts from '@caribou/contracts';
import type * as core from '@caribou/core';
import type * as state from '@caribou/state';
import type { Fleet } from '../fleet.js';
import { type SandboxCalls, sandboxCalls } from '../sandbox-calls.js';

/** Calls of one sandbox, by the client of the build whose services run. */
export interface SystemCalls extends SandboxCalls {
  close(): Promise<void>;
}

interface Libraries {
  readonly bus: typeof buses;
  readonly contracts: typeof contracts;
  readonly core: typeof core;
  readonly state: typeof state;
}

const LEASE_MS = 3_600_000;

/** @param product the folder `dist` of the build whose services the fleet runs */
export async function openCalls(fleet: Fleet, product: string): Promise<SystemCalls> {
  const library = await librariesOf(product);
  const redis = library.state.createRedis({ url: fleet.redisUrl });
  const logger = library.core.silentLogger;
  const { newId } = library.contracts;
  const bus = library.bus.connectBus({ url: fleet.natsUrl, name: 'bench', logger, streams: [] });
  const close = async (): Promise<void> => {
    await bus.close();
    await redis.close();
  };
  try {
    await bus.waitUntilConnected();
    const scope: core.SandboxScope = { userId: 'bench', threadId: newId(), epoch: 1 };
    const { lease } = redis.keys.thread(scope);
    await redis.use((client) => client.set(lease, `bench:${scope.epoch}`, 'PX', LEASE_MS));
    const registry = library.state.redisSandboxRegistry(redis);
    const journal = library.state.redisExecutionJournal(redis);
    const sandbox = library.bus.createRemoteSandbox({ bus, registry, journal, logger });
    return { ...sandboxCalls({ sandbox, scopeOf: () => scope, newId }), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function librariesOf(product: string): Promise<Libraries> {
  const load = async (name: string): Promise<unknown> => import(join(product, 'libs', name, 'src/index.js'));
  const names = ['bus', 'contracts', 'core', 'state'] as const;
  const loaded = await Promise.all(names.map(async (name) => [name, await load(name)] as const));
  return Object.fromEntries(loaded) as unknown as Libraries;
}

import { newId } from '@caribou/contracts';
import { type Logger, systemClock } from '@caribou/core';
import { type DirectWorker, OrphanTakeover, ProcessLease } from '@caribou/runs';
import { type ProcessOwner, type RedisConnection, redisProcessRegistry, type RunStore } from '@caribou/state';
import { withCallNames } from '../virtual/network.js';
import { PROCESS_LEASE_MS, PROCESS_RENEW_MS } from './clocks.js';
import type { SimEnvironment } from './environment.js';

/** A new process, as the owner of what it claims. */
export const newOwner = (): ProcessOwner => ({ processId: newId(), leaseMs: PROCESS_LEASE_MS });

interface ProcessParts {
  /** The part of the store that has the threads of the process. */
  readonly redis: RedisConnection;
  readonly store: RunStore;
  readonly worker: DirectWorker;
  readonly logger: Logger;
}

/** Takes the lease of a process, which takes over the runs of those that die; both are the product's. */
export function startProcessLease(world: SimEnvironment, owner: ProcessOwner, parts: ProcessParts): ProcessLease {
  const { redis, store, worker, logger } = parts;
  const random = (): number => world.scheduler.random.next();
  const orphans = new OrphanTakeover({ store, worker, clock: systemClock, logger, random });
  const lease = new ProcessLease({
    owner,
    registry: withCallNames('processes', redisProcessRegistry(redis, 'runs')),
    renewMs: PROCESS_RENEW_MS,
    clock: systemClock,
    logger,
    onDeaths: (renewal) => orphans.handle(renewal),
  });
  lease.start();
  return lease;
}

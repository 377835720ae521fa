import { omitUndefined } from '@caribou/contracts';
import {
  type HeadCache,
  type RedisConnection,
  redisRunStore,
  redisUsageLedger,
  type RunStore,
  taskPart,
} from '@caribou/state';
import { EVENTS_TTL_MS, LEASE_MS } from './clocks.js';
import { withCallNames } from '../virtual/network.js';
import { simulatedLedger } from './simulated-ledger.js';
import type { SimEnvironment } from './environment.js';
import type { newOwner } from './process-leases.js';

interface StoreParts {
  /** The connection of threads. */
  readonly redis: RedisConnection;
  readonly process: ReturnType<typeof newOwner>;
  /** Whether it is the store of tasks. */
  readonly ofTasks: boolean;
  /** The states that the process holds. */
  readonly heads?: HeadCache;
}

/** How many threads of a user may run at once, as runners know it; 0: no limit. The fault `share`: they know of none. */
export const runLimitOf = ({ options, sizes }: SimEnvironment): number =>
  options.sabotage === 'share' ? 0 : sizes.maxRunningPerUser;

/** The store of runs or of tasks, which enters their model calls into the ledger. */
export function runStoreOf(world: SimEnvironment, { redis, process, ofTasks, heads }: StoreParts): RunStore {
  const isApart = world.options.sabotage === 'usage';
  const ledger = simulatedLedger(redis);
  const settings = { leaseMs: LEASE_MS, eventsTtlMs: EVENTS_TTL_MS, process };
  const store = redisRunStore(ofTasks ? taskPart(redis) : redis, {
    ...settings,
    maxRunningPerUser: ofTasks ? 0 : runLimitOf(world),
    ...omitUndefined({ ledger: isApart ? undefined : ledger, heads }),
  });
  return withCallNames('runs', isApart ? withCallsEnteredApart(store, redis, ledger) : store);
}

/** The fault `usage`: the calls of a commit are entered by a command of its own, before the commit. */
function withCallsEnteredApart(
  store: RunStore,
  redis: RedisConnection,
  settings: ReturnType<typeof simulatedLedger>,
): RunStore {
  const ledger = withCallNames('ledger', redisUsageLedger(redis, settings));
  return {
    ...store,
    commit: async (lease, request) => {
      await ledger.add({ userId: lease.userId }, 'lead_agent', request.usage?.calls ?? []);
      return store.commit(lease, request);
    },
    finish: async (lease, request) => {
      await ledger.add({ userId: lease.userId }, 'lead_agent', request.commit?.usage?.calls ?? []);
      return store.finish(lease, request);
    },
  };
}

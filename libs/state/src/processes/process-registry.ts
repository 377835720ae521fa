import type { ProcessOwner, ProcessRegistry } from '../ports/process-registry.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';

const script = loadScript('processes/renew-process');

/** For how long the end of a lease is reported, in milliseconds; others see it within a fraction of that. */
const REPORT_MS = 60_000;

type ProcessRole = 'runs' | 'memory';

/** The leases of the processes of one role that use a part of the store, in Redis. */
export function redisProcessRegistry(redis: RedisConnection, role: ProcessRole): ProcessRegistry {
  const { ends, since } = redis.keys.processes(role);
  return {
    renew: async ({ processId, leaseMs }) => {
      const reply = await redis.run(script, [ends, since], [processId, leaseMs, REPORT_MS]);
      const [living, ...dead] = reply as [number, ...string[]];
      return { living, dead };
    },
    countLiving: async () => {
      const [seconds] = await redis.use((client) => client.time());
      return redis.use((client) => client.zcount(ends, `(${seconds}000`, '+inf'));
    },
    release: async (processId) => {
      await redis.use((client) => Promise.all([client.zrem(ends, processId), client.hdel(since, processId)]));
    },
  };
}

/** The parameters of scripts that include `includes/processes.lua`; none for a claimer without a lease of its process. */
export function processParams(redis: RedisConnection, role: ProcessRole, owner: ProcessOwner | undefined) {
  if (owner === undefined) return {};
  const { ends, since } = redis.keys.processes(role);
  return { process: owner.processId, process_lease_ms: owner.leaseMs, processes: ends, processes_since: since };
}

/** The owner that a claim is made under, by the process that makes it. */
export const ownerName = (owner: ProcessOwner | undefined, claimId: string): string =>
  owner === undefined ? claimId : `${owner.processId}.${claimId}`;

/** The process that the owner of a lease names. */
export const processOf = (owner: string): string | undefined => /^([^.:]+)\./.exec(owner)?.[1];

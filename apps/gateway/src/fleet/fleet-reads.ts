import type { Config } from '@caribou/config';
import { readProcessLeases, type RedisConnection, redisSandboxRegistry } from '@caribou/state';

/** What administrators see of processes and sandboxes. */
export const fleetReads = (redis: RedisConnection, { clocks }: Config) => ({
  processLeases: () => readProcessLeases(redis, clocks),
  sandboxBindings: redisSandboxRegistry(redis),
});

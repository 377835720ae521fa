import { type Config, configFindings, configSources, maskConfig } from '@caribou/config';
import {
  listPendingRuns,
  type PendingRunQuery,
  readDayUse,
  readProcessLeases,
  type RedisConnection,
  redisAuditTrail,
  redisSandboxRegistry,
} from '@caribou/state';

/** What administrators read of the whole installation. */
export const operatorReads = (redis: RedisConnection, config: Config) => ({
  processLeases: () => readProcessLeases(redis, config.clocks),
  sandboxBindings: redisSandboxRegistry(redis),
  auditTrail: redisAuditTrail(redis),
  pendingRuns: (query: PendingRunQuery) => listPendingRuns(redis, query),
  dayUse: (limit: number) => readDayUse(redis, limit),
  /** The configuration without secrets, and what is to be said about it. */
  loadedConfig: { config: maskConfig(config), sources: configSources(config), findings: configFindings(config) },
});

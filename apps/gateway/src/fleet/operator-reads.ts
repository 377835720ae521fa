import { type Config, configFindings, configSources, maskConfig } from '@caribou/config';
import {
  listPendingRuns,
  type PendingRunQuery,
  readDayUse,
  readProcessLeases,
  type RedisConnection,
  redisAuditTrail,
  redisModelCircuits,
  redisSandboxRegistry,
} from '@caribou/state';

/** What administrators see of the installation, its processes and what all users do. */
export const operatorReads = (redis: RedisConnection, config: Config) => ({
  auditTrail: redisAuditTrail(redis),
  pendingRuns: (query: PendingRunQuery) => listPendingRuns(redis, query),
  dayUse: (limit: number) => readDayUse(redis, limit),
  loadedConfig: {
    config: maskConfig(config),
    sources: configSources(config),
    findings: configFindings(config),
  },
  modelCircuits: redisModelCircuits(redis),
  processLeases: () => readProcessLeases(redis, config.clocks),
  sandboxBindings: redisSandboxRegistry(redis),
});

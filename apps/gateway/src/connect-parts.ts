import { modelGateLimits, taskLimits } from '@caribou/agent';
import { connectBus } from '@caribou/bus';
import { type Config, extensionsFile } from '@caribou/config';
import { UnavailableError } from '@caribou/contracts';
import { type Logger, type ModelCatalog, systemClock } from '@caribou/core';
import { documentConverter } from '@caribou/documents';
import { gatedModel } from '@caribou/middleware';
import { createModelCatalog } from '@caribou/models';
import type { StopStep } from '@caribou/nest';
import { createMetrics, createTracing } from '@caribou/observability';
import {
  checkRedis,
  createRedis,
  type RedisConnection,
  redisAgents,
  redisAccounts,
  redisAttempts,
  redisConversions,
  redisEventLog,
  redisLocks,
  type RedisFinding,
  redisModelGate,
  redisSkills,
  redisSharedDocuments,
  redisTaskStore,
  redisMemoryStore,
  redisThreadStore,
  taskPart,
} from '@caribou/state';
import { skillFiles, userFiles } from '@caribou/sandbox';
import { openSkillCatalog } from '@caribou/skills';
import { chainCatalog } from './agents/chain-catalog.js';
import { scryptPasswords } from './auth/passwords.js';
import type { GatewayParts, SkillParts } from './parts.js';
import type { GatewaySettings } from './ports.js';

/** The settings of the gateway from the configuration. */
export const settingsOf = ({
  clocks,
  quotas,
  runner,
  models,
  problems,
  http,
  uploads,
  chain,
  skills,
  agentsApi,
  tools,
  mcp,
  auth,
  suggestions,
}: Config): GatewaySettings => ({
  heartbeatMs: clocks.heartbeatMs,
  maxStreamsPerUser: quotas.maxStreamsPerUser,
  maxTurns: runner.maxTurns,
  maxTurnsCap: runner.maxTurnsCap,
  models: models.map(({ apiKey: _key, baseUrl: _url, headers: _headers, body: _body, ...shown }) => shown),
  showsTokens: chain.token_usage.enabled,
  suggestions,
  problems,
  bodyLimitBytes: http.bodyLimitBytes,
  uploads,
  memory: chain.memory,
  skills: { maxInstalled: skills.maxInstalled, maxBytes: skills.maxInstalledBytes },
  agentsApi,
  toolGroups: tools.groupNames,
  mcp,
  auth,
  conversionLeaseMs: clocks.leaseMs,
  conversionRenewMs: clocks.renewMs,
});

export interface ConnectedParts extends GatewayParts {
  /** Tells what is wrong with Redis. @throws {UnavailableError} when it would lose threads */
  checkStore(): Promise<void>;
  /** Ends the connections; after the HTTP server has stopped. */
  readonly stop: readonly StopStep[];
}

/** Time for the last spans when this process stops. */
const TRACES_CLOSE_MS = 2_000;

/** Connects to Redis and NATS in the background; both are reconnected for ever. */
export async function connectParts(config: Config, logger: Logger): Promise<ConnectedParts> {
  const { clocks, quotas, runner } = config;
  const tracing = await createTracing({ service: 'gateway', endpoint: config.otlpEndpoint?.reveal(), logger });
  const redis = createRedis({ url: config.redis.url.reveal(), logger });
  const bus = connectBus({
    url: config.nats.url.reveal(),
    name: 'gateway',
    logger,
    streams: ['turns'],
    ackWaitMs: clocks.ackWaitMs,
  });
  const models = createModelCatalog(config.models, { clocks, logger });
  const store = redisThreadStore(redis, {
    leaseMs: clocks.leaseMs,
    maxAttempts: runner.maxAttempts,
    eventsTtlMs: clocks.eventsTtlMs,
    maxQueuedRuns: quotas.maxQueuedRunsPerThread,
    maxInFlightRuns: quotas.maxRunsPerUser,
    idempotencyTtlMs: clocks.idempotencyTtlMs,
  });
  return {
    store,
    tasks: redisTaskStore(taskPart(redis), taskLimits(config.chain.subagents)),
    log: redisEventLog(redis),
    bus,
    files: userFiles(config.homeDir, config.sandbox.limits),
    conversions: redisConversions(redis),
    locks: redisLocks(redis),
    memories: redisMemoryStore(redis),
    agents: redisAgents(redis),
    converter: documentConverter({ maxAtOnce: config.uploads.convertAtOnce }),
    models: gated(models, config, { redis, logger }),
    chains: chainCatalog(config, models),
    skills: skillParts(config, redis, logger),
    signIn: { accounts: redisAccounts(redis), attempts: redisAttempts(redis) },
    passwords: scryptPasswords(),
    documents: redisSharedDocuments(redis),
    extensions: extensionsFile(config.extensionsConfigPath),
    settings: settingsOf(config),
    metrics: createMetrics({ service: 'gateway' }),
    tracing,
    logger,
    checkStore: () => checkStore(redis, logger),
    stop: [
      { name: 'traces', run: () => tracing.close(TRACES_CLOSE_MS) },
      { name: 'bus', run: () => bus.close() },
      { name: 'redis', run: () => redis.close() },
    ],
  };
}

/** Calls of the gateway count among those of the runners, and towards the same circuit. */
function gated(
  models: ModelCatalog,
  { chain }: Config,
  { redis, logger }: { readonly redis: RedisConnection; readonly logger: Logger },
): ModelCatalog {
  const gate = redisModelGate(redis, { ...modelGateLimits(chain), logger });
  return { names: models.names, get: (name) => gatedModel(models.get(name), gate) };
}

function skillParts(config: Config, redis: RedisConnection, logger: Logger): SkillParts {
  const store = redisSkills(redis);
  return {
    store,
    catalog: openSkillCatalog(config, { store, clock: systemClock, logger }),
    files: skillFiles(config.homeDir, config.sandbox.limits),
  };
}

/** A Redis that is away is no reason not to start: `/ready` says so until it is back. */
async function checkStore(redis: RedisConnection, logger: Logger): Promise<void> {
  const findings = await checkRedis(redis).catch((error: unknown): readonly RedisFinding[] => {
    if (!(error instanceof UnavailableError)) throw error;
    return [{ level: 'warning', message: error.message }];
  });
  for (const { level, message } of findings) {
    if (level === 'error') throw new UnavailableError(message, { details: { dependency: 'redis' } });
    logger.warn({ event: 'redis.check', reason: message }, 'redis');
  }
}

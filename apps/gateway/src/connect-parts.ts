import { modelGateLimits, taskLimits } from '@caribou/agent';
import { connectBus } from '@caribou/bus';
import { type Config, extensionsFile } from '@caribou/config';
import { busAccess } from '@caribou/contracts';
import { type Logger, type ModelCatalog, systemClock, type ThreadStore } from '@caribou/core';
import { documentConverter } from '@caribou/documents';
import { gatedModel } from '@caribou/middleware';
import { createModelCatalog } from '@caribou/models';
import type { StopStep } from '@caribou/nest';
import { createMetrics, createTracing } from '@caribou/observability';
import {
  createRedis,
  MemoryWatch,
  type RedisConnection,
  redisAgents,
  redisAccounts,
  redisAttempts,
  redisConversions,
  redisErasures,
  redisEventLog,
  redisLocks,
  redisModelGate,
  redisSkills,
  redisSharedDocuments,
  redisTaskStore,
  redisMemoryStore,
  redisThreadStore,
  redisVolumeRegistry,
  requireDurableRedis,
  taskPart,
} from '@caribou/state';
import { erasedFiles, SharedVolume, skillFiles, userFiles } from '@caribou/files';
import { openSkillCatalog } from '@caribou/skills';
import { chainCatalog } from './agents/chain-catalog.js';
import { scryptPasswords } from './auth/passwords.js';
import { erasing } from './erasure/erasing.js';
import { Erasures } from './erasure/erasures.js';
import type { GatewayParts, SkillParts } from './parts.js';
import type { GatewaySettings } from './ports.js';
import { filesOnVolume } from './files/uploads/files-on-volume.js';

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
  const redis = createRedis({ url: config.redis.url.reveal(), ...config.redis.security.reveal(), logger });
  const bus = connectBus({
    url: config.nats.url.reveal(),
    ...config.nats.security.reveal(),
    replicas: config.nats.replicas,
    name: 'gateway',
    access: busAccess('gateway'),
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
    maxThreads: quotas.maxThreadsPerUser,
    maxStateBytes: quotas.maxStateBytes,
    maxStoredBytes: quotas.maxRunBytesPerUser,
    idempotencyTtlMs: clocks.idempotencyTtlMs,
  });
  const volume = new SharedVolume(redisVolumeRegistry(redis), config.homeDir);
  const memory = new MemoryWatch(redis, { maxShare: quotas.maxStoreShare, logger });
  const tasks = redisTaskStore(taskPart(redis), taskLimits(config.chain.subagents));
  const memories = redisMemoryStore(redis);
  const erasures = new Erasures({
    ...{ store: redisErasures(redis), files: erasedFiles(config.homeDir), threads: store, tasks, memories, logger },
    ...{ sweepMs: clocks.sweepMs, ensureVolume: () => volume.ensure() },
  });
  const files = filesOnVolume(userFiles(config.homeDir, config.sandbox.limits), () => volume.ensure());
  return {
    ...erasing(erasures, { store: withRoom(store, memory), files }),
    erasures,
    tasks,
    log: redisEventLog(redis),
    bus,
    volume,
    conversions: redisConversions(redis),
    locks: redisLocks(redis),
    memories,
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
    checkStore: async () => {
      await requireDurableRedis(redis, logger);
      await volume.checkAtStart(logger);
      await memory.lookNow();
    },
    stop: [
      { name: 'traces', run: () => tracing.close(TRACES_CLOSE_MS) },
      { name: 'bus', run: () => bus.close() },
      { name: 'memory watch', run: () => Promise.resolve(memory.stop()) },
      { name: 'redis', run: () => redis.close() },
    ],
  };
}

/** Admits runs only while Redis has room for what they will write. */
const withRoom = (store: ThreadStore, memory: MemoryWatch): ThreadStore => ({
  ...store,
  admit: (request) => {
    memory.assertRoom();
    return store.admit(request);
  },
});

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

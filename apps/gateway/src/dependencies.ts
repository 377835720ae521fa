import { modelGateLimits, taskLimits } from '@caribou/agent';
import { type Bus, connectBus } from '@caribou/bus';
import { type Config, configFindings, configSources, extensionsFile, maskConfig } from '@caribou/config';
import { busAccess, omitUndefined } from '@caribou/contracts';
import { type Logger, type ModelCatalog, type ModelModule, systemClock, type ThreadKey } from '@caribou/core';
import {
  type ThreadStore,
  createRedis,
  MemoryWatch,
  type RedisConnection,
  redisAgents,
  redisAssistants,
  redisAccountDirectory,
  redisAccounts,
  redisApiKeys,
  redisAttempts,
  redisConversions,
  redisCrons,
  redisDelayedRuns,
  redisAuditTrail,
  redisDeadLetters,
  listPendingRuns,
  type PendingRunQuery,
  readDayUse,
  redisOutbox,
  HeadCache,
  redisErasures,
  redisItems,
  redisEventLog,
  redisFeedback,
  redisLocks,
  redisModelCircuits,
  redisModelGate,
  redisSandboxRegistry,
  readProcessLeases,
  ledgerSettings,
  redisRequestBuckets,
  redisUsageLedger,
  redisSkills,
  redisSharedDocuments,
  newProcessId,
  redisRunTraces,
  traceSettings,
  redisTaskStore,
  redisMemoryStore,
  redisProcessRegistry,
  redisThreadStore,
  redisTurnQueue,
  redisWaitingThreads,
  requireDurableRedis,
  taskPart,
} from '@caribou/state';
import { type DocumentConverter, documentConverter } from '@caribou/documents';
import { createWebhookFetch } from '@caribou/egress';
import { gateCatalog } from '@caribou/middleware';
import { createEmbedder, createModelCatalog } from '@caribou/models';
import { loadModels } from '@caribou/extensions';
import { ConsoleFiles } from '@caribou/page-files';
import type { StopStep } from '@caribou/service';
import { createMetrics, createTracing, type Metrics, type Tracing } from '@caribou/observability';
import { openSkillCatalog } from '@caribou/skills';
import type { Provider } from '@nestjs/common';
import { chainCatalog } from './agents/chain-catalog.js';
import { scryptPasswords } from './auth/passwords.js';
import { withErasures } from './erasure/with-erasures.js';
import { Erasures } from './erasure/erasures.js';
import { openFileCollection } from './files/open-file-collection.js';
import { type GatewayFiles, openFiles } from './files/open-files.js';
import { queueReads } from './fleet/queue-reads.js';
import { LoopLagWatch } from './http/loop-lag-watch.js';
import { dispatchTurn } from './runs/turn-dispatch.js';
import { toSettings } from './settings.js';
import { openSkillFiles } from './skills/open-skill-files.js';
import { measureQueues } from './system/queue-figures.js';

/** Everything that the gateway's services are built from; `listDependencies` is the one list. */
export type Dependencies = ReturnType<typeof listDependencies>;

/** Providers of all dependencies, each under its name. */
export const toProviders = (dependencies: Dependencies): Provider[] =>
  Object.entries(dependencies).map(([provide, useValue]) => ({ provide, useValue }));

/** Time for a stopping gateway to send its last spans. */
const TRACES_CLOSE_MS = 2_000;

/**
 * Creates all dependencies. Connections to Redis and NATS are made in the background and restored when they are lost.
 *
 * @throws {ConfigError} when a module that answers for a model cannot be used
 */
export async function createDependencies(config: Config, logger: Logger) {
  const modules = await loadModels(config.models);
  const tracing = await createTracing({ service: 'gateway', endpoint: config.otlpEndpoint?.reveal(), logger });
  const metrics = createMetrics({ service: 'gateway' });
  const onScript = (name: string, durationMs: number): void => metrics.scriptEnded(name, durationMs);
  const storesFiles = config.files !== undefined;
  const address = { url: config.redis.url.reveal(), ...config.redis.security.reveal() };
  const redis = createRedis({ ...address, storesFiles, logger, onScript });
  const bus = connectGatewayBus(config, logger);
  const files = openFiles(config, { redis, bus, logger });
  const memory = new MemoryWatch(redis, { maxShare: config.quotas.maxStoreShare, logger });
  const loopLag = new LoopLagWatch({ maxMs: config.quotas.maxEventLoopLagMs, logger });
  return {
    dependencies: listDependencies(config, { modules, tracing, redis, bus, files, memory, loopLag, metrics, logger }),
    /** Checks Redis and the files. @throws {UnavailableError} when Redis would lose threads */
    checkStore: async (): Promise<void> => {
      await requireDurableRedis(redis, logger);
      await files.checkAtStart();
      await memory.lookNow();
    },
    /** Closes the connections; run after the HTTP server has stopped. */
    stop: [
      { name: 'traces', run: () => tracing.close(TRACES_CLOSE_MS) },
      { name: 'bus', run: () => bus.close() },
      { name: 'memory watch', run: () => Promise.resolve(memory.stop()) },
      { name: 'event-loop lag', run: () => Promise.resolve(loopLag.stop()) },
      { name: 'redis', run: () => redis.close() },
    ] satisfies StopStep[],
  };
}

interface Connections {
  readonly modules: ReadonlyMap<string, ModelModule>;
  readonly tracing: Tracing;
  readonly redis: RedisConnection;
  readonly bus: Bus;
  readonly files: GatewayFiles;
  readonly memory: MemoryWatch;
  readonly loopLag: LoopLagWatch;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

function listDependencies(config: Config, connections: Connections) {
  const { modules, tracing, redis, bus, files, metrics, logger } = connections;
  const models = createModelCatalog(config.models, { clocks: config.clocks, logger, modules });
  const store = withAdmissionControl(createThreadStore(connections, config), connections);
  const taskStore = redisTaskStore(taskPart(redis), taskLimits(config.chain.subagents));
  const memories = redisMemoryStore(redis);
  const usageLedger = redisUsageLedger(redis, ledgerSettings(redis, config));
  const timed = timedStores(redis, config);
  const deadLetters = redisDeadLetters(redis, { debounceMs: config.chain.memory.debounce_seconds * 1_000 });
  const apiKeys = redisApiKeys(redis);
  const erasures = new Erasures({
    store: redisErasures(redis),
    crons: timed.crons,
    outbox: timed.outbox,
    deadLetters,
    files: files.erased,
    threads: store,
    tasks: taskStore,
    memories,
    usage: usageLedger,
    apiKeys,
    sweepMs: config.clocks.sweepMs,
    ensureVolume: files.ensure,
    logger,
  });
  const erasable = withErasures(erasures, { store, files: files.users });
  const dispatchPorts = { handoffs: bus, queue: redisTurnQueue(redis), wakes: bus.wakes('turns'), metrics, logger };
  const skillStore = redisSkills(redis);
  const conversions = documentConverter({ maxAtOnce: config.uploads.convertAtOnce });
  const converter: DocumentConverter = conversions;
  measureQueues(metrics, { redis, memory: config.chain.memory, conversions });
  const settings = toSettings(config);
  return {
    threadStore: erasable.store,
    taskStore,
    runTraces: redisRunTraces(redis),
    taskTraces: redisRunTraces(taskPart(redis), redis),
    ...timed,
    webhookFetch: createWebhookFetch(config.webhooks),
    dispatchTurn: (thread: ThreadKey) => dispatchTurn(dispatchPorts, thread),
    waitingThreads: redisWaitingThreads(redis),
    runnerProcesses: redisProcessRegistry(redis, 'runs'),
    deadLetters,
    auditTrail: redisAuditTrail(redis),
    pendingRuns: (query: PendingRunQuery) => listPendingRuns(redis, query),
    dayUse: (limit: number) => readDayUse(redis, limit),
    loadedConfig: {
      config: maskConfig(config),
      sources: configSources(config),
      findings: configFindings(config),
    },
    eventLog: redisEventLog(redis),
    bus,
    userFiles: erasable.files,
    /** Null when files lie on a data volume. */
    fileHistory: files.stored?.history ?? null,
    fileCollection: openFileCollection(files, { redis, logger, skillStore }),
    fileReadiness: files.readiness,
    conversions: redisConversions(redis),
    locks: redisLocks(redis),
    erasures,
    memories,
    agents: redisAgents(redis),
    assistants: redisAssistants(redis),
    feedback: redisFeedback(redis),
    /** The model of searches in the store; null: they go by words. */
    embedder: config.store.embeddings === undefined ? null : createEmbedder(config.store.embeddings),
    items: redisItems(redis, {
      maxItems: config.quotas.maxStoreItemsPerUser,
      maxBytes: config.quotas.maxStoreBytesPerUser,
    }),
    converter,
    models: withModelGate(models, config, { redis, logger }),
    modelCircuits: redisModelCircuits(redis),
    ...fleetReads(redis, config),
    queueReads: queueReads({ redis, memory: config.chain.memory, conversions }),
    chains: chainCatalog(config, models),
    skillStore,
    skillCatalog: openSkillCatalog(config, { store: skillStore, clock: systemClock, logger }),
    skillFiles: openSkillFiles(config, { records: skillStore, logger }),
    accounts: redisAccounts(redis),
    accountDirectory: redisAccountDirectory(redis),
    apiKeys,
    attempts: redisAttempts(redis),
    requestBuckets: redisRequestBuckets(redis),
    usageLedger,
    passwords: scryptPasswords(),
    documents: redisSharedDocuments(redis),
    extensionsFile: extensionsFile(config.extensionsConfigPath),
    consoleFiles: new ConsoleFiles(),
    settings,
    metrics,
    tracing,
    logger,
  };
}

const connectGatewayBus = ({ nats, clocks }: Config, logger: Logger) =>
  connectBus({
    url: nats.url.reveal(),
    ...nats.security.reveal(),
    replicas: nats.replicas,
    name: 'gateway',
    access: busAccess('gateway'),
    logger,
    streams: ['turns'],
    ackWaitMs: clocks.ackWaitMs,
  });

/** What administrators see of processes and sandboxes. */
const fleetReads = (redis: RedisConnection, { clocks }: Config) => ({
  processLeases: () => readProcessLeases(redis, clocks),
  sandboxBindings: redisSandboxRegistry(redis),
});

/** How much longer than an attempt the lease of a delivery is: for the body, and for the entry of the outcome. */
const DELIVERY_MARGIN_MS = 15_000;

/** The stores of what happens at a time or after a run. */
const timedStores = (redis: RedisConnection, { clocks, crons, webhooks, explain }: Config) => ({
  crons: redisCrons(redis, { maxPerUser: crons.maxPerUser }),
  delayedRuns: redisDelayedRuns(redis, {
    eventsTtlMs: clocks.eventsTtlMs,
    idempotencyTtlMs: clocks.idempotencyTtlMs,
    ...omitUndefined({ trace: traceSettings(redis, explain, 'gateway') }),
  }),
  outbox: redisOutbox(redis, {
    perUser: webhooks.maxAtOncePerUser,
    perHost: webhooks.maxAtOncePerHost,
    leaseMs: webhooks.timeoutMs + DELIVERY_MARGIN_MS,
    maxAgeMs: webhooks.maxAgeMs,
    maxFailed: webhooks.maxFailedPerUser,
  }),
});

/** States of threads that later reads of these threads need not transfer again. */
const HEAD_CACHE_BYTES = 64 * 1024 * 1024;

const createThreadStore = ({ redis, metrics }: Pick<Connections, 'redis' | 'metrics'>, config: Config): ThreadStore => {
  const { clocks, quotas, runner, store, webhooks } = config;
  const heads = new HeadCache(HEAD_CACHE_BYTES);
  metrics.measureCache('heads', heads.bytes);
  return redisThreadStore(redis, {
    heads,
    leaseMs: clocks.leaseMs,
    maxAttempts: runner.maxAttempts,
    eventsTtlMs: clocks.eventsTtlMs,
    maxQueuedRuns: quotas.maxQueuedRunsPerThread,
    maxInFlightRuns: quotas.maxRunsPerUser,
    maxThreads: quotas.maxThreadsPerUser,
    maxStateBytes: quotas.maxStateBytes,
    maxDelayedRuns: quotas.maxDelayedRunsPerUser,
    maxWebhookEvents: webhooks.maxWaitingPerUser,
    maxStoredBytes: quotas.maxRunBytesPerUser,
    idempotencyTtlMs: clocks.idempotencyTtlMs,
    compact: store.compact,
    ledger: ledgerSettings(redis, config),
    ...omitUndefined({ trace: traceSettings(redis, config.explain, newProcessId('gateway')) }),
  });
};

/**
 * The store, which refuses new runs while this process is overloaded, and while Redis lacks the memory for what they will
 * write.
 */
const withAdmissionControl = (
  store: ThreadStore,
  { memory, loopLag }: Pick<Connections, 'memory' | 'loopLag'>,
): ThreadStore => ({
  ...store,
  admit: async (request) => {
    loopLag.assertResponsive();
    memory.assertRoom();
    return await store.admit(request);
  },
});

/** The models, whose calls share limits and circuit breaker with the calls of the runners. */
function withModelGate(
  models: ModelCatalog,
  { chain }: Config,
  { redis, logger }: { readonly redis: RedisConnection; readonly logger: Logger },
): ModelCatalog {
  const gate = redisModelGate(redis, { ...modelGateLimits(chain), logger });
  return gateCatalog(models, gate);
}

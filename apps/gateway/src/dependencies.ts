import { modelGateLimits, taskLimits } from '@caribou/agent';
import { type Bus, connectBus } from '@caribou/bus';
import { type Config, extensionsFile } from '@caribou/config';
import { busAccess } from '@caribou/contracts';
import {
  type Logger,
  type ModelCatalog,
  type ModelModule,
  type OfferedRun,
  systemClock,
  type ThreadKey,
} from '@caribou/core';
import {
  createRedis,
  MemoryWatch,
  newProcessId,
  type RedisConnection,
  redisApiKeys,
  redisConversions,
  redisDeadLetters,
  redisErasures,
  redisEventLog,
  redisLocks,
  redisModelCircuits,
  redisModelGate,
  ledgerSettings,
  redisUsageLedger,
  redisSkills,
  redisSharedDocuments,
  redisRunTraces,
  redisTaskStore,
  redisMemoryStore,
  redisProcessRegistry,
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
import { fleetReads } from './fleet/fleet-reads.js';
import { queueReads } from './fleet/queue-reads.js';
import { LoopLagWatch } from './http/loop-lag-watch.js';
import { operatorReads } from './operator/operator-reads.js';
import { dispatchTurn } from './runs/turn-dispatch.js';
import { toSettings } from './settings.js';
import { openSkillFiles } from './skills/open-skill-files.js';
import { createThreadStore } from './stores/thread-store.js';
import { timedStores } from './stores/timed-stores.js';
import { userStores } from './stores/user-stores.js';
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
  const processId = newProcessId('gateway');
  const store = createThreadStore({ ...connections, handoffs: bus, processId }, config);
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
  measureQueues(metrics, { redis, redisMemory: connections.memory, memory: config.chain.memory, conversions });
  const settings = toSettings(config);
  return {
    /** Names this process in traces, and among the processes that administrators see. */
    processId,
    threadStore: erasable.store,
    taskStore,
    runTraces: redisRunTraces(redis),
    taskTraces: redisRunTraces(taskPart(redis), redis),
    ...timed,
    webhookFetch: createWebhookFetch(config.webhooks),
    dispatchTurn: (thread: ThreadKey, run?: OfferedRun) => dispatchTurn(dispatchPorts, thread, run),
    waitingThreads: redisWaitingThreads(redis),
    runnerProcesses: redisProcessRegistry(redis, 'runs'),
    deadLetters,
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
    ...userStores(redis, config),
    /** The model of searches in the store; null: they go by words. */
    embedder: config.store.embeddings === undefined ? null : createEmbedder(config.store.embeddings),
    converter,
    models: withModelGate(models, config, { redis, logger }),
    modelCircuits: redisModelCircuits(redis),
    ...operatorReads(redis, config),
    ...fleetReads(redis, config),
    queueReads: queueReads({ redis, memory: config.chain.memory, conversions }),
    chains: chainCatalog(config, models),
    skillStore,
    skillCatalog: openSkillCatalog(config, { store: skillStore, clock: systemClock, logger }),
    skillFiles: openSkillFiles(config, { records: skillStore, logger }),
    apiKeys,
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

/** The models, whose calls share limits and circuit breaker with the calls of the runners. */
function withModelGate(
  models: ModelCatalog,
  { chain }: Config,
  { redis, logger }: { readonly redis: RedisConnection; readonly logger: Logger },
): ModelCatalog {
  const gate = redisModelGate(redis, { ...modelGateLimits(chain), logger });
  return gateCatalog(models, gate);
}

import { taskLimits } from '@caribou/agent';
import { connectBus } from '@caribou/bus';
import { type Config, type ExtensionsFile, extensionsFile } from '@caribou/config';
import { UnavailableError } from '@caribou/contracts';
import {
  type ConversionStore,
  type Logger,
  type MemoryStore,
  type RunEventLog,
  type SharedDocuments,
  type SkillCatalog,
  type SkillStore,
  systemClock,
  type TaskStore,
  type ThreadStore,
} from '@caribou/core';
import { type DocumentConverter, documentConverter } from '@caribou/documents';
import { createModelCatalog } from '@caribou/models';
import type { StopStep } from '@caribou/nest';
import { createMetrics, createTracing, type Metrics, type Tracing } from '@caribou/observability';
import {
  checkRedis,
  createRedis,
  type RedisConnection,
  redisConversions,
  redisEventLog,
  type RedisFinding,
  redisSkills,
  redisSharedDocuments,
  redisTaskStore,
  redisMemoryStore,
  redisThreadStore,
  taskPart,
} from '@caribou/state';
import { type SkillFiles, skillFiles, type UserFiles, userFiles } from '@caribou/sandbox';
import { openSkillCatalog } from '@caribou/skills';
import { type DynamicModule, Module } from '@nestjs/common';
import { AgentsController } from './agents/agents.controller.js';
import { type ChainCatalog, chainCatalog } from './agents/chain-catalog.js';
import { ArtifactsController } from './artifacts/artifacts.controller.js';
import { AssistantsController } from './assistants/assistants.controller.js';
import { MemoryController } from './memory/memory.controller.js';
import { MemoryEdits } from './memory/memory-edits.js';
import { MemoryService } from './memory/memory.service.js';
import { McpConfigService } from './mcp/mcp-config.service.js';
import { McpController } from './mcp/mcp.controller.js';
import {
  BUS,
  CHAINS,
  CONVERSIONS,
  CONVERTER,
  DOCUMENTS,
  EVENT_LOG,
  EXTENSIONS_FILE,
  type GatewayBus,
  type GatewaySettings,
  LOGGER,
  MEMORIES,
  METRICS,
  SETTINGS,
  SKILL_CATALOG,
  SKILL_FILES,
  SKILL_STORE,
  TASK_STORE,
  THREAD_STORE,
  TRACING,
  USER_FILES,
} from './ports.js';
import { RunsController } from './runs/runs.controller.js';
import { RunsService } from './runs/runs.service.js';
import { StatelessRunsController } from './runs/stateless-runs.controller.js';
import { SkillInstaller } from './skills/skill-installer.js';
import { SkillsController } from './skills/skills.controller.js';
import { SkillsService } from './skills/skills.service.js';
import { RunWatcher } from './streams/run-watcher.js';
import { ReadinessCheck } from './system/readiness.js';
import { InfoController, SystemController } from './system/system.controller.js';
import { TasksController } from './tasks/tasks.controller.js';
import { TasksService } from './tasks/tasks.service.js';
import { ThreadsController } from './threads/threads.controller.js';
import { ThreadsService } from './threads/threads.service.js';
import { TokenUsageService } from './threads/token-usage.service.js';
import { DocumentConversions } from './uploads/document-conversions.js';
import { UploadsController } from './uploads/uploads.controller.js';
import { UploadsService } from './uploads/uploads.service.js';

/** What skills stand on. */
interface SkillParts {
  readonly catalog: SkillCatalog;
  readonly store: SkillStore;
  readonly files: SkillFiles;
}

/** What the gateway stands on. */
export interface GatewayParts {
  readonly store: ThreadStore;
  readonly tasks: TaskStore;
  readonly log: RunEventLog;
  readonly bus: GatewayBus;
  readonly files: UserFiles;
  readonly conversions: ConversionStore;
  readonly memories: MemoryStore;
  readonly converter: DocumentConverter;
  readonly chains: ChainCatalog;
  readonly skills: SkillParts;
  readonly documents: SharedDocuments;
  readonly extensions: ExtensionsFile;
  readonly settings: GatewaySettings;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly logger: Logger;
}

@Module({})
export class AppModule {
  /** The gateway on these parts; tests bring a bus or a store of their own. */
  static on(parts: GatewayParts): DynamicModule {
    const { store, tasks, log, bus, files, conversions, memories, converter, chains, skills } = parts;
    const { settings, metrics, tracing, logger } = parts;
    return {
      module: AppModule,
      controllers: [
        ThreadsController,
        RunsController,
        StatelessRunsController,
        TasksController,
        UploadsController,
        ArtifactsController,
        AssistantsController,
        AgentsController,
        MemoryController,
        SkillsController,
        McpController,
        InfoController,
        SystemController,
      ],
      providers: [
        { provide: THREAD_STORE, useValue: store },
        { provide: TASK_STORE, useValue: tasks },
        { provide: EVENT_LOG, useValue: log },
        { provide: BUS, useValue: bus },
        { provide: USER_FILES, useValue: files },
        { provide: CONVERSIONS, useValue: conversions },
        { provide: MEMORIES, useValue: memories },
        { provide: CONVERTER, useValue: converter },
        { provide: CHAINS, useValue: chains },
        { provide: SKILL_CATALOG, useValue: skills.catalog },
        { provide: SKILL_FILES, useValue: skills.files },
        { provide: SKILL_STORE, useValue: skills.store },
        { provide: DOCUMENTS, useValue: parts.documents },
        { provide: EXTENSIONS_FILE, useValue: parts.extensions },
        { provide: SETTINGS, useValue: settings },
        { provide: METRICS, useValue: metrics },
        { provide: TRACING, useValue: tracing },
        { provide: LOGGER, useValue: logger },
        ThreadsService,
        TokenUsageService,
        RunsService,
        TasksService,
        MemoryService,
        MemoryEdits,
        UploadsService,
        DocumentConversions,
        SkillsService,
        SkillInstaller,
        McpConfigService,
        RunWatcher,
        ReadinessCheck,
      ],
    };
  }
}

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
  mcp,
}: Config): GatewaySettings => ({
  heartbeatMs: clocks.heartbeatMs,
  maxStreamsPerUser: quotas.maxStreamsPerUser,
  maxTurns: runner.maxTurns,
  maxTurnsCap: runner.maxTurnsCap,
  models,
  problems,
  bodyLimitBytes: http.bodyLimitBytes,
  uploads,
  memory: chain.memory,
  skills: { maxInstalled: skills.maxInstalled, maxBytes: skills.maxInstalledBytes },
  mcp,
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
    memories: redisMemoryStore(redis),
    converter: documentConverter({ maxAtOnce: config.uploads.convertAtOnce }),
    chains: chainCatalog(config, createModelCatalog(config.models, { clocks, logger })),
    skills: skillParts(config, redis, logger),
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

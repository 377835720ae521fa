import { modelGateLimits } from '@caribou/agent';
import { type Bus, connectBus, createRemoteSandbox } from '@caribou/bus';
import type { Config } from '@caribou/config';
import { busAccess } from '@caribou/contracts';
import { type Logger, type SandboxPort, systemClock } from '@caribou/core';
import type { Extensions } from '@caribou/extensions';
import type { McpTools } from '@caribou/mcp';
import type { HealthCheck } from '@caribou/nest';
import { createModelCatalog } from '@caribou/models';
import { createMetrics, type Metrics, type Tracing } from '@caribou/observability';
import { RunExecutor, RunRegistry, Sweeper, TurnWorker } from '@caribou/runs';
import {
  createRedis,
  redisAgents,
  redisConversions,
  redisExecutionJournal,
  type RedisConnection,
  redisMemoryStore,
  redisModelGate,
  redisRunStore,
  redisSandboxRegistry,
  redisToolJournal,
} from '@caribou/state';
import { connectToolbox } from '@caribou/toolbox';
import { type DynamicModule, Module } from '@nestjs/common';
import { afterCancel, leadAgent } from './lead-agent/lead-agent.js';
import { connectSubagents } from './lead-agent/subagents.js';
import { memoryNudge } from './memory-nudge.js';

/** The shortest debounce time of memory that a configuration can set. */
const NUDGE_MS = 1_000;

/** Time for a renewal to be written after it was due. */
const RENEWAL_MS = 500;

/** What the agent-runner stands on; app.module.ts is the only place that builds adapters. */
export interface RunnerParts {
  readonly bus: Bus;
  readonly redis: RedisConnection;
  readonly worker: TurnWorker;
  readonly sweeper: Sweeper;
  readonly registry: RunRegistry;
  readonly mcp: McpTools;
  readonly metrics: Metrics;
  /** What must be there for a turn to run. */
  readonly checks: readonly HealthCheck[];
}

@Module({})
export class AppModule {
  static on(parts: RunnerParts): DynamicModule {
    return {
      module: AppModule,
      providers: [
        { provide: TurnWorker, useValue: parts.worker },
        { provide: Sweeper, useValue: parts.sweeper },
        { provide: RunRegistry, useValue: parts.registry },
      ],
    };
  }
}

/** What the process brought with it before it connected. */
export interface RunnerExtras {
  /** The operator's middlewares and tools. */
  readonly extensions: Extensions;
  readonly tracing: Tracing;
}

/** Connects to Redis and NATS in the background, both for ever, and puts the runner together. */
export function connectParts(config: Config, logger: Logger, { extensions, tracing }: RunnerExtras): RunnerParts {
  const { clocks, runner } = config;
  const metrics = createMetrics({ service: 'agent-runner' });
  const redis = createRedis({ url: config.redis.url.reveal(), ...config.redis.security.reveal(), logger });
  const bus = connectBus({
    url: config.nats.url.reveal(),
    ...config.nats.security.reveal(),
    replicas: config.nats.replicas,
    name: 'agent-runner',
    access: busAccess('agent-runner'),
    logger,
    streams: ['turns', 'subagents', 'memory', 'deadLetters'],
    ackWaitMs: clocks.ackWaitMs,
  });
  const store = redisRunStore(redis, {
    leaseMs: clocks.leaseMs,
    maxAttempts: runner.maxAttempts,
    eventsTtlMs: clocks.eventsTtlMs,
  });
  const sandbox = remoteSandbox({ redis, bus, config, logger });
  const models = createModelCatalog(config.models, { clocks, logger });
  const subagents = connectSubagents({ redis, bus, models, config });
  const journal = redisToolJournal(redis);
  const { mcp, ...tools } = connectToolbox({ config, redis, journal, bus, sandbox, extensions, logger });
  const registry = new RunRegistry();
  const executor = new RunExecutor({
    store,
    publisher: bus,
    registry,
    agent: leadAgent(
      {
        models,
        gate: redisModelGate(redis, { ...modelGateLimits(config.chain), logger }),
        sandbox,
        conversions: redisConversions(redis),
        subagents: subagents.port,
        ...tools,
        memories: redisMemoryStore(redis),
        agents: redisAgents(redis),
      },
      config,
    ),
    sandbox,
    afterCancel: afterCancel(config, subagents.endTasks),
    onMemoryQueued: memoryNudge({ wakes: bus.wakes('memory'), clock: systemClock, logger, everyMs: NUDGE_MS }),
    clock: systemClock,
    logger,
    clocks,
    metrics,
    tracing,
  });
  bus.subscribeCancels((runId) => registry.nudge(runId));
  const wakes = bus.wakes('turns');
  const worker = new TurnWorker({
    ...{ wakes, store, executor, registry, metrics, logger },
    slots: runner.slots,
    takeoverSlots: runner.takeoverSlots ?? runner.slots,
    busyNakMs: clocks.busyNakMs,
  });
  return {
    bus,
    redis,
    registry,
    mcp,
    metrics,
    checks: [
      { name: 'redis', check: () => store.ping() },
      { name: 'nats', check: () => bus.checkStreams() },
      { name: 'model', check: () => modelProblem(config) },
    ],
    worker,
    sweeper: new Sweeper({
      ...{ store, wakes, worker, clock: systemClock, logger, sweepMs: clocks.sweepMs },
      graceMs: clocks.renewMs + RENEWAL_MS,
      deadLetter: (id, entry) => bus.deadLetter('run', id, entry),
    }),
  };
}

interface SandboxParts {
  readonly redis: RedisConnection;
  readonly bus: Bus;
  readonly config: Config;
  readonly logger: Logger;
}

/** Sandboxes of threads, wherever their manager is. */
function remoteSandbox({ redis, bus, config, logger }: SandboxParts): SandboxPort {
  const registry = redisSandboxRegistry(redis);
  return createRemoteSandbox({
    bus,
    registry,
    journal: redisExecutionJournal(redis),
    logger,
    lookMs: config.clocks.managerCheckMs,
  });
}

const modelProblem = ({ problems }: Config): Promise<void> =>
  problems.length === 0 ? Promise.resolve() : Promise.reject(new Error(problems.join('; ')));

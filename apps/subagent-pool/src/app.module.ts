import { modelGateLimits, taskLimits } from '@caribou/agent';
import { type Bus, connectBus, createRemoteSandbox } from '@caribou/bus';
import type { Config } from '@caribou/config';
import { BugError, busAccess, taskIds } from '@caribou/contracts';
import { type Logger, type SandboxPort, systemClock } from '@caribou/core';
import type { Extensions } from '@caribou/extensions';
import type { McpTools } from '@caribou/mcp';
import type { HealthCheck } from '@caribou/nest';
import { createModelCatalog } from '@caribou/models';
import { createMetrics, type Metrics, type Tracing } from '@caribou/observability';
import { RunExecutor, RunRegistry, Sweeper } from '@caribou/runs';
import {
  createRedis,
  redisExecutionJournal,
  type RedisConnection,
  redisModelGate,
  redisRunStore,
  redisSandboxRegistry,
  redisTaskSlots,
  redisTaskStore,
  redisToolJournal,
  taskPart,
} from '@caribou/state';
import { connectToolbox } from '@caribou/toolbox';
import { type DynamicModule, Module } from '@nestjs/common';
import { borrowedSandbox } from './borrowed-sandbox.js';
import { HeldTasks } from './held-tasks.js';
import { slottedStore } from './slotted-store.js';
import { subagentLoop } from './subagent-loop.js';
import { TaskWorker } from './task-worker.js';

/** Time for a renewal to be written after it was due. */
const RENEWAL_MS = 500;

/** What the subagent-pool stands on; app.module.ts is the only place that builds adapters. */
export interface PoolParts {
  readonly bus: Bus;
  readonly redis: RedisConnection;
  readonly worker: TaskWorker;
  readonly sweeper: Sweeper;
  readonly mcp: McpTools;
  readonly metrics: Metrics;
  /** What must be there for a task to run. */
  readonly checks: readonly HealthCheck[];
}

@Module({})
export class AppModule {
  static on({ worker, sweeper }: PoolParts): DynamicModule {
    return {
      module: AppModule,
      providers: [
        { provide: TaskWorker, useValue: worker },
        { provide: Sweeper, useValue: sweeper },
      ],
    };
  }
}

/** What the process brought with it before it connected. */
export interface PoolExtras {
  /** The operator's middlewares and tools. */
  readonly extensions: Extensions;
  readonly tracing: Tracing;
}

/** Connects to Redis and NATS in the background, both for ever, and puts the pool together. */
export function connectParts(config: Config, logger: Logger, { extensions, tracing }: PoolExtras): PoolParts {
  const { clocks } = config;
  const { subagents } = config.chain;
  const metrics = createMetrics({ service: 'subagent-pool' });
  const redis = createRedis({ url: config.redis.url.reveal(), ...config.redis.security.reveal(), logger });
  const bus = connectBus({
    url: config.nats.url.reveal(),
    ...config.nats.security.reveal(),
    replicas: config.nats.replicas,
    name: 'subagent-pool',
    access: busAccess('subagent-pool'),
    logger,
    streams: ['subagents', 'deadLetters'],
    ackWaitMs: clocks.ackWaitMs,
    checkMs: clocks.sweepMs,
  });
  const tasks = taskPart(redis);
  const held = new HeldTasks();
  const slots = redisTaskSlots({ tasks, parents: redis, leaseMs: clocks.leaseMs });
  const limits = taskLimits(subagents);
  const inner = redisRunStore(tasks, {
    leaseMs: clocks.leaseMs,
    maxAttempts: config.runner.maxAttempts,
    eventsTtlMs: limits.keptMs,
  });
  const kept = redisTaskStore(tasks, limits);
  const store = slottedStore({ store: inner, slots, forget: (task) => kept.forget(task), held });
  const sandbox = parentsSandbox({ redis, bus, held, config, logger });
  const journal = redisToolJournal(tasks);
  const { mcp, ...tools } = connectToolbox({ config, redis, journal, bus, sandbox, extensions, logger });
  const registry = new RunRegistry();
  const executor = new RunExecutor({
    store,
    publisher: bus,
    registry,
    agent: subagentLoop(
      {
        models: createModelCatalog(config.models, { clocks, logger }),
        gate: redisModelGate(redis, { ...modelGateLimits(config.chain), logger }),
        sandbox,
        ...tools,
      },
      config,
    ),
    sandbox,
    clock: systemClock,
    logger,
    clocks,
    metrics,
    tracing,
  });
  bus.subscribeCancels((runId) => {
    registry.nudge(runId);
    for (const call of held.callsOf(runId)) registry.nudge(taskIds(runId, call).runId);
  });
  const wakes = bus.wakes('subagents');
  const worker = new TaskWorker({
    ...{ wakes, slots, held, executor, registry, clock: systemClock, logger },
    ownSlots: subagents.slots,
    limits: { maxRunning: subagents.max_running, maxRunningPerUser: subagents.max_running_per_user },
    busyMs: clocks.busyNakMs,
  });
  return {
    bus,
    redis,
    mcp,
    metrics,
    checks: [
      { name: 'redis', check: () => inner.ping() },
      { name: 'nats', check: () => bus.checkStreams() },
    ],
    worker,
    sweeper: new Sweeper({
      ...{ store: inner, wakes, worker, clock: systemClock, logger, sweepMs: clocks.sweepMs },
      graceMs: clocks.renewMs + RENEWAL_MS,
      deadLetter: (id, entry) => bus.deadLetter('run', id, entry),
    }),
  };
}

interface SandboxParts {
  readonly redis: RedisConnection;
  readonly bus: Bus;
  readonly held: HeldTasks;
  readonly config: Config;
  readonly logger: Logger;
}

/** The sandboxes of the threads that handed over the tasks this process works on. */
function parentsSandbox({ redis, bus, held, config, logger }: SandboxParts): SandboxPort {
  const registry = redisSandboxRegistry(redis);
  const sandbox = createRemoteSandbox({
    bus,
    registry,
    journal: redisExecutionJournal(redis),
    logger,
    lookMs: config.clocks.managerCheckMs,
  });
  return borrowedSandbox({
    sandbox,
    lenderOf: (task) => {
      const threadId = held.of(task)?.spec?.parent.thread_id;
      if (threadId === undefined) throw new BugError('a task that is not held asks for a sandbox');
      return { userId: task.userId, threadId };
    },
    currentEpoch: (thread) => registry.currentEpoch(thread),
    clock: systemClock,
  });
}

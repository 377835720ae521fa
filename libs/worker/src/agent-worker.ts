import { modelGateLimits } from '@caribou/agent';
import { createRemoteSandbox } from '@caribou/bus';
import type { Config } from '@caribou/config';
import { omitUndefined } from '@caribou/contracts';
import { type Logger, type ModelModule, systemClock } from '@caribou/core';
import {
  newProcessId,
  type RunStore,
  redisExecutionJournal,
  redisModelGate,
  redisSandboxRegistry,
  traceSettings,
} from '@caribou/state';
import type { Extensions } from '@caribou/extensions';
import type { McpTools } from '@caribou/mcp';
import { createModelCatalog } from '@caribou/models';
import { type HealthCheck, ProcessReport } from '@caribou/service';
import type { Tracing } from '@caribou/observability';
import { OrphanTakeover, ProcessLease, RunExecutor, RunRegistry, Sweeper } from '@caribou/runs';
import type { AgentRole, RoleWorker, WorkerBase } from './agent-role.js';
import { openAgentTools } from './agent-tools.js';
import { type Connections, openConnections } from './connections.js';

/** Milliseconds for writing a renewal after it was due. */
const RENEWAL_MS = 500;

export interface WorkerOptions {
  readonly config: Config;
  readonly logger: Logger;
  /** The operator's middlewares and tools. */
  readonly extensions: Extensions;
  /** The operator's modules that answer for models, by the names of these. */
  readonly modules: ReadonlyMap<string, ModelModule>;
  readonly tracing: Tracing;
}

export interface AgentWorker extends Connections {
  readonly worker: RoleWorker;
  readonly sweeper: Sweeper;
  readonly processLease: ProcessLease;
  readonly mcp: McpTools;
  /** What this process answers about itself. */
  readonly report: ProcessReport;
  /** Checks of the dependencies that a run needs. */
  readonly checks: readonly HealthCheck[];
  /** Checks that must succeed before the worker is started. */
  readonly prepare: () => Promise<void>;
}

/** Creates a process that runs agents of one role. It accepts no work before its worker and its sweeper are started. */
export function openAgentWorker(role: AgentRole, options: WorkerOptions): AgentWorker {
  const base = openBase(role, options);
  const { bus, redis, metrics } = base;
  const { config, logger, tracing } = options;
  const { runs, journal, loop, processes, dependentRuns, checks = [], ...open } = role.open(base);
  const tools = openAgentTools({ ...options, redis, bus, journal, sandbox: runs.sandbox });
  const registry = new RunRegistry();
  metrics.measure('active_runs', () => registry.size);
  metrics.measureSlots(open.slots.kind, { used: () => registry.size, limit: open.slots.limit });
  const executor = new RunExecutor({
    ...runs,
    publisher: bus,
    registry,
    agent: loop(tools),
    clock: systemClock,
    logger,
    clocks: config.clocks,
    metrics,
    tracing,
    storesTraces: base.trace !== undefined,
    isOwner: () => processLease.isHeld(),
  });
  bus.subscribeCancels((runId) => {
    for (const id of [runId, ...(dependentRuns?.(runId) ?? [])]) registry.nudge(id);
  });
  const worker = open.worker({ wakes: bus.wakes(role.wakes), executor, registry });
  const orphans = new OrphanTakeover({ store: runs.store, worker, clock: systemClock, logger });
  const processLease = new ProcessLease({
    owner: base.process,
    registry: processes,
    renewMs: config.clocks.processRenewMs,
    clock: systemClock,
    logger,
    onDeaths: (renewal) => orphans.handle(renewal),
  });
  const allChecks = [
    { name: 'redis', check: () => runs.store.ping() },
    { name: 'nats', check: () => bus.checkStreams() },
    ...checks,
  ];
  const { processId } = base.process;
  return {
    bus,
    redis,
    metrics,
    worker,
    processLease,
    sweeper: sweeperOf(role, base, { store: runs.store, worker }),
    mcp: tools.mcp,
    report: new ProcessReport({ service: role.service, processId, metrics, checks: allChecks }),
    checks: allChecks,
    prepare: open.prepare ?? (() => Promise.resolve()),
  };
}

function openBase({ service, busOptions }: AgentRole, { config, logger, modules }: WorkerOptions): WorkerBase {
  const connections = openConnections({ service, config, logger, ...busOptions(config) });
  const { bus, redis } = connections;
  const sandboxRegistry = redisSandboxRegistry(redis);
  const processId = newProcessId(service);
  return {
    ...connections,
    config,
    logger,
    process: { processId, leaseMs: config.clocks.processLeaseMs },
    ...omitUndefined({ trace: traceSettings(redis, config.explain, processId) }),
    models: createModelCatalog(config.models, { clocks: config.clocks, logger, modules }),
    gate: redisModelGate(redis, { ...modelGateLimits(config.chain), logger }),
    sandboxRegistry,
    sandboxes: createRemoteSandbox({
      bus,
      registry: sandboxRegistry,
      journal: redisExecutionJournal(redis),
      logger,
      lookMs: config.clocks.managerCheckMs,
    }),
  };
}

function sweeperOf(
  role: AgentRole,
  { bus, config: { clocks }, logger }: WorkerBase,
  { store, worker }: { readonly store: RunStore; readonly worker: RoleWorker },
): Sweeper {
  return new Sweeper({
    store,
    wakes: bus.wakes(role.wakes),
    worker,
    clock: systemClock,
    logger,
    sweepMs: clocks.sweepMs,
    graceMs: clocks.renewMs + RENEWAL_MS,
    deadLetter: (id, entry) => bus.deadLetter('run', id, entry),
  });
}

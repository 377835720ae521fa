import { modelGateLimits } from '@caribou/agent';
import type { Bus, Wake } from '@caribou/bus';
import type { Config } from '@caribou/config';
import { newId } from '@caribou/contracts';
import { type Logger, type ModelCatalog, type ModelModule, systemClock } from '@caribou/core';
import { gateCatalog } from '@caribou/middleware';
import { createModelCatalog } from '@caribou/models';
import { type HealthCheck, ProcessReport } from '@caribou/service';
import type { Metrics } from '@caribou/observability';
import {
  type ProcessOwner,
  redisProcessRegistry,
  type RedisConnection,
  redisMemoryJobs,
  redisMemoryStore,
  redisModelGate,
  redisUsageLedger,
  ledgerSettings,
} from '@caribou/state';
import { ProcessLease } from '@caribou/runs';
import { type Connections, openConnections } from '@caribou/worker';
import { MemoryWorker } from './memory-worker.js';
import { ExtractionModel } from './extraction-model.js';
import { MemoryExtraction } from './memory-extraction.js';

/** The parts of the memory-worker's process. */
export interface MemoryParts extends Connections {
  /** The worker; undefined when memory is disabled. */
  readonly worker: MemoryWorker | undefined;
  /** The lease of this process; undefined when memory is disabled. */
  readonly processLease: ProcessLease | undefined;
  readonly checks: readonly HealthCheck[];
  /** What this process answers about itself. */
  readonly report: ProcessReport;
}

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
/** Longest time between two polls while jobs are queued. */
const POLL_MS = 1_000;
const NOTIFICATIONS_AT_ONCE = 8;

/**
 * Connects to Redis and NATS in the background and builds the worker.
 *
 * @param modules the operator's modules that answer for models, by the names of these
 */
export function openMemoryWorker(
  config: Config,
  logger: Logger,
  modules: ReadonlyMap<string, ModelModule>,
): MemoryParts {
  const { memory } = config.chain;
  const streams = ['memory', 'deadLetters'] as const;
  const connections = openConnections({
    service: 'memory-worker',
    config,
    logger,
    streams,
    checkMs: config.clocks.sweepMs,
  });
  const { bus, redis, metrics } = connections;
  const owner = { processId: newId(), leaseMs: config.clocks.processLeaseMs };
  const worker = memory.enabled ? buildWorker(config, { ...connections, logger, owner, modules }) : undefined;
  const checks = [
    { name: 'redis', check: () => redis.ping() },
    { name: 'nats', check: () => bus.checkStreams() },
  ];
  return {
    ...connections,
    worker,
    processLease: worker === undefined ? undefined : leaseOf(owner, worker, { config, redis, logger }),
    checks,
    report: new ProcessReport({ service: 'memory-worker', processId: owner.processId, metrics, checks }),
  };
}

interface Base {
  readonly bus: Bus;
  readonly redis: RedisConnection;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** This process, as the owner of the jobs that it takes. */
  readonly owner: ProcessOwner;
  /** The operator's modules that answer for models. */
  readonly modules: ReadonlyMap<string, ModelModule>;
}

const leaseOf = (
  owner: ProcessOwner,
  worker: MemoryWorker,
  { config, redis, logger }: { readonly config: Config; readonly redis: RedisConnection; readonly logger: Logger },
): ProcessLease =>
  new ProcessLease({
    owner,
    registry: redisProcessRegistry(redis, 'memory'),
    renewMs: config.clocks.processRenewMs,
    clock: systemClock,
    logger,
    onDeaths: ({ dead }) => worker.takeOver(dead),
  });

function buildWorker(config: Config, base: Base): MemoryWorker {
  const { bus, redis, metrics, logger, owner } = base;
  const { chain, clocks } = config;
  const { memory } = chain;
  const debounceMs = memory.debounce_seconds * SECOND_MS;
  const jobs = redisMemoryJobs(redis, { debounceMs, leaseMs: clocks.leaseMs, process: owner });
  const model = new ExtractionModel({
    models: catalogOf(config, base),
    modelName: memory.model_name,
    timeoutMs: memory.model_timeout_ms,
    metrics,
    ledger: redisUsageLedger(redis, ledgerSettings(redis, config)),
  });
  const extraction = new MemoryExtraction(
    {
      jobs,
      memories: redisMemoryStore(redis),
      model,
      deadLetter: (id, entry) => bus.deadLetter('memory', id, entry),
      clock: systemClock,
      logger,
      clocks: { leaseMs: clocks.leaseMs, renewMs: clocks.renewMs },
      metrics,
    },
    {
      maxFacts: memory.max_facts,
      confidenceThreshold: memory.fact_confidence_threshold,
      maxAttempts: memory.max_attempts,
      baseDelayMs: memory.retry_base_delay_ms,
      capDelayMs: memory.retry_cap_delay_ms,
      giveUpMs: memory.give_up_after_hours * HOUR_MS,
    },
  );
  const worker = new MemoryWorker({
    jobs,
    extraction,
    metrics,
    clock: systemClock,
    logger,
    slots: memory.worker_slots,
    pollMs: Math.min(POLL_MS, debounceMs / 4),
    idleMs: clocks.sweepMs,
  });
  metrics.measureSlots('extractions', { used: () => worker.size, limit: memory.worker_slots });
  return worker;
}

/** The models, whose calls share limits and circuit breaker with the calls of the runners. */
function catalogOf(config: Config, { redis, logger, modules }: Base): ModelCatalog {
  const gate = redisModelGate(redis, { ...modelGateLimits(config.chain), logger });
  const models = createModelCatalog(config.models, { clocks: config.clocks, logger, modules });
  return gateCatalog(models, gate);
}

/** Subscribes to the notifications of runners. They carry no data: the worker then polls the queue in Redis. */
export function subscribeToNotifications(bus: Bus, worker: MemoryWorker): { stop(): void } {
  return bus.wakes('memory').pull({
    slots: NOTIFICATIONS_AT_ONCE,
    handle: async (wake: Wake) => {
      worker.notify();
      await wake.ack();
    },
  });
}

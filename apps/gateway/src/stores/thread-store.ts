import type { Config } from '@caribou/config';
import { omitUndefined } from '@caribou/contracts';
import type { Metrics } from '@caribou/observability';
import {
  HeadCache,
  ledgerSettings,
  type MemoryWatch,
  type RedisConnection,
  redisThreadStore,
  type ThreadStore,
  traceSettings,
} from '@caribou/state';
import { type BeginPorts, withBegunRuns } from './begun-runs.js';
import type { LoopLagWatch } from '../http/loop-lag-watch.js';

interface Ports {
  readonly redis: RedisConnection;
  readonly metrics: Metrics;
  readonly memory: MemoryWatch;
  readonly loopLag: LoopLagWatch;
  readonly handoffs: BeginPorts['handoffs'];
  readonly processId: string;
}

/** States of threads that later reads of these threads need not transfer again. */
const HEAD_CACHE_BYTES = 64 * 1024 * 1024;
/** To read a smaller state again costs less than the garbage collector's work for one that is held. */
const MIN_HELD_BYTES = 16 * 1024;

/** The store of threads, which refuses new work under overload and lets runners admit runs where they can. */
export function createThreadStore(ports: Ports, config: Config): ThreadStore {
  const tracedAs = config.explain.enabled ? ports.processId : undefined;
  return withAdmissionControl(withBegunRuns(storedThreads(ports, config), { ...ports, tracedAs }, config), ports);
}

const storedThreads = ({ redis, metrics, processId }: Ports, config: Config): ThreadStore => {
  const { clocks, quotas, runner, store, webhooks } = config;
  const heads = new HeadCache(HEAD_CACHE_BYTES, MIN_HELD_BYTES);
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
    ...omitUndefined({ trace: traceSettings(redis, config.explain, processId) }),
  });
};

/**
 * The store, which refuses new runs while this process is overloaded, and while Redis lacks the memory for what they will
 * write.
 */
const withAdmissionControl = (
  store: ThreadStore,
  { memory, loopLag }: Pick<Ports, 'memory' | 'loopLag'>,
): ThreadStore => ({
  ...store,
  admit: async (request) => {
    loopLag.assertResponsive();
    memory.assertRoom();
    return await store.admit(request);
  },
});

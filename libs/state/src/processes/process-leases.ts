import type { ServiceName } from '@caribou/contracts';
import type { RedisConnection } from '../redis/connection.js';

/** A process with a lease in Redis, or whose lease lapsed within the last minute. */
export interface ProcessLeaseState {
  readonly service: ServiceName;
  readonly processId: string;
  /** Time since its last renewal. */
  readonly renewedMsAgo: number;
  readonly held: boolean;
}

export interface LeaseTimes {
  /** How long the leases of processes that run agents or read memory are, in milliseconds. */
  readonly processLeaseMs: number;
  readonly managerLeaseMs: number;
}

/** Maximum number of leases of one service that are read, those that were renewed last. */
const MAX_READ = 500;
/** The end of a lease is shown for so long. */
const REPORT_MS = 60_000;

/**
 * Reads the leases of all processes that have one: runners, pools, memory-workers and sandbox-managers.
 *
 * @throws {UnavailableError} when Redis does not answer in time
 */
export async function readProcessLeases(
  redis: RedisConnection,
  { processLeaseMs, managerLeaseMs }: LeaseTimes,
): Promise<{ readonly leases: readonly ProcessLeaseState[]; readonly isCut: boolean }> {
  const { keys } = redis;
  const sources = [
    { service: 'agent-runner', key: keys.processes('runs').ends, leaseMs: processLeaseMs },
    { service: 'subagent-pool', key: redis.part('tasks').keys.processes('runs').ends, leaseMs: processLeaseMs },
    { service: 'memory-worker', key: keys.processes('memory').ends, leaseMs: processLeaseMs },
    { service: 'sandbox-manager', key: keys.managers, leaseMs: managerLeaseMs },
  ] as const;
  const [[seconds, micros], ...found] = await redis.use((client) =>
    Promise.all([client.time(), ...sources.map(({ key }) => client.zrevrange(key, 0, MAX_READ, 'WITHSCORES'))]),
  );
  const nowMs = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  const leases = sources.flatMap(({ service, leaseMs }, index) =>
    pairs(found[index] ?? [])
      .slice(0, MAX_READ)
      .filter(([, endMs]) => endMs > nowMs - REPORT_MS)
      .map(([processId, endMs]) => ({
        ...{ service, processId, held: endMs > nowMs },
        renewedMsAgo: Math.max(0, nowMs - (endMs - leaseMs)),
      })),
  );
  return { leases, isCut: found.some((members) => members.length > 2 * MAX_READ) };
}

const pairs = (scored: readonly string[]): readonly (readonly [string, number])[] =>
  scored.flatMap((member, index) => (index % 2 === 0 ? [[member, Number(scored[index + 1])] as const] : []));

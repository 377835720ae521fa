import type { ModelEndpoint } from '@caribou/core';
import { MAX_AUDIT_LINES } from '../executions/audit-log.js';
import type { AdminLine } from '../ports/admission.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';

const resetScript = loadScript('models/reset-circuit');

/** The circuit breaker and the call slots of a model, as all processes share them. */
export interface ModelCircuit {
  readonly state: 'closed' | 'open' | 'half_open';
  /** Failed calls in a row. */
  readonly failures: number;
  /** When the next call may try the model, by the clock of Redis; undefined while it is closed. */
  readonly retryAtMs?: number;
  /** Calls under way that have a slot; 0 where calls have no limit. */
  readonly calls: number;
  readonly waiting: number;
}

/** Shows the state of models to administrators, who may close a circuit. */
export interface ModelCircuits {
  /** @throws {UnavailableError} when Redis does not answer in time */
  read(endpoint: ModelEndpoint): Promise<ModelCircuit>;
  /** Closes the circuit; calls under way count for the closed one. The line is written with it. @throws {UnavailableError} */
  reset(endpoint: ModelEndpoint, line: AdminLine): Promise<void>;
}

export function redisModelCircuits(redis: RedisConnection): ModelCircuits {
  return {
    read: async (endpoint) => {
      const { circuit, slots, waiting } = redis.keys.model(endpoint);
      const [seconds, micros] = await redis.use((client) => client.time());
      const nowMs = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
      const [fields, calls, queued] = await redis.use((client) =>
        Promise.all([
          client.hmget(circuit, 'failures', 'open_until', 'probe_until'),
          client.zcount(slots, `(${nowMs}`, '+inf'),
          client.zcount(waiting, `(${nowMs}`, '+inf'),
        ]),
      );
      return { ...circuitOf(fields, nowMs), calls, waiting: queued };
    },
    reset: async (endpoint, line) => {
      const { keys } = redis;
      await redis.run(resetScript, [keys.model(endpoint).circuit, keys.audit], [JSON.stringify(line), MAX_AUDIT_LINES]);
    },
  };
}

function circuitOf(
  [failures, openUntil, probeUntil]: readonly (string | null)[],
  nowMs: number,
): Omit<ModelCircuit, 'calls' | 'waiting'> {
  const counted = { failures: Number(failures ?? 0) };
  if (openUntil === null || openUntil === undefined) return { state: 'closed', ...counted };
  const openMs = Number(openUntil);
  if (openMs > nowMs) return { state: 'open', ...counted, retryAtMs: openMs };
  // A probe that does not report is replaced by another call then.
  return { state: 'half_open', ...counted, retryAtMs: Math.max(openMs, Number(probeUntil ?? 0)) };
}

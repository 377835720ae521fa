import { newId, UnavailableError } from '@caribou/contracts';
import {
  type CallOf,
  type CallOutcome,
  type CallPermit,
  type Clock,
  type AcquireResult,
  type Logger,
  type ModelEndpoint,
  type ModelGate,
  silentLogger,
  systemClock,
} from '@caribou/core';
import { z } from 'zod';
import type { RedisConnection } from '../redis/connection.js';
import type { ModelKeys } from '../redis/script-keys.js';
import { loadScript } from '../redis/scripts.js';

export interface ModelGateOptions {
  /** Failed calls in a row that open the circuit. */
  readonly failureThreshold: number;
  /** Time from the opening of the circuit to its probe. */
  readonly recoveryMs: number;
  /** Calls of one model at once, over all processes; 0 is no limit, and needs no request to Redis. */
  readonly maxConcurrentCalls: number;
  /** Longest wait for a slot, default 5 min. */
  readonly slotWaitMs?: number;
  /** How long a slot or a probe outlives its process, default 30 s; renewed three times in it. */
  readonly leaseMs?: number;
  /** How long a circuit seen closed is assumed to be closed, default 1 s. */
  readonly knownMs?: number;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

type Settings = Required<ModelGateOptions>;

const scripts = {
  acquire: loadScript('models/acquire-model'),
  renew: loadScript('models/renew-model'),
  release: loadScript('models/release-model'),
};

const FIRST_POLL_MS = 50;
const MAX_POLL_MS = 500;
/** A token that was not renewed for this long leaves the queue: its process died. */
const WAITING_MS = 5_000;
/** The record of an open circuit expires this long after its recovery time. */
const FORGET_MS = 3_600_000;

const AcquireReply = z.union([
  z.tuple([z.literal('open'), z.number()]),
  z.tuple([z.literal('wait')]),
  z.tuple([z.literal('go'), z.number(), z.number()]),
]);
type AcquireReply = z.infer<typeof AcquireReply>;

/** The last state of a closed circuit that this process read. */
interface Known {
  readonly failures: number;
  readonly untilMs: number;
}

/**
 * Limits and circuit breaker of models in Redis, whose clock decides.
 *
 * G1 A circuit seen closed is assumed to be closed for `knownMs`, so that most calls need no request. One that opens
 *    meanwhile is noticed that much later.
 * G2 A success is reported only when failures are known, or when the call has a slot or is the probe.
 * G3 While Redis is unavailable the circuit is assumed to be closed, and slots to be free, for `knownMs`.
 */
class RedisModelGate implements ModelGate {
  private readonly known = new Map<string, Known>();
  private awayUntilMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly redis: Pick<RedisConnection, 'keys' | 'run'>,
    private readonly settings: Settings,
  ) {}

  async acquire(endpoint: ModelEndpoint, { signal, userId }: CallOf): Promise<AcquireResult> {
    signal.throwIfAborted();
    const keys = this.redis.keys.model(endpoint);
    const token = newId();
    if (this.mayAdmitLocally(keys)) return { kind: 'admitted', permit: this.createPermit(keys, token, NOTHING_HELD) };
    try {
      return await this.waitForPermit(keys, { token, userId }, signal);
    } catch (error) {
      if (error instanceof UnavailableError && !signal.aborted) {
        this.assumeClosed(error);
        return { kind: 'admitted', permit: this.createPermit(keys, token, NOTHING_HELD) };
      }
      await this.release(keys, token, 'unknown');
      signal.throwIfAborted();
      throw error;
    }
  }

  /** Polls until the call is admitted or refused, or the wait for a slot is over. */
  private async waitForPermit(keys: ModelKeys, call: WaitingCall, signal: AbortSignal): Promise<AcquireResult> {
    const { token } = call;
    const { clock, slotWaitMs } = this.settings;
    const deadlineMs = clock.monotonicMs() + slotWaitMs;
    for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * 1.5, MAX_POLL_MS)) {
      const reply = await this.tryAcquire(keys, call);
      signal.throwIfAborted();
      if (reply[0] === 'open') return this.refuse(keys, reply[1]);
      if (reply[0] === 'go') return { kind: 'admitted', permit: this.admit(keys, token, reply) };
      const leftMs = deadlineMs - clock.monotonicMs();
      if (leftMs <= 0) {
        await this.release(keys, token, 'unknown');
        return { kind: 'refused', reason: 'no_slot' };
      }
      await clock.sleep(Math.min(pauseMs, leftMs), signal);
    }
  }

  private async tryAcquire(keys: ModelKeys, { token, userId }: WaitingCall): Promise<AcquireReply> {
    const { maxConcurrentCalls, leaseMs, recoveryMs } = this.settings;
    const args = [token, maxConcurrentCalls, leaseMs, WAITING_MS, recoveryMs + FORGET_MS, userId];
    return AcquireReply.parse(await this.redis.run(scripts.acquire, keysOf(keys), args));
  }

  private refuse(keys: ModelKeys, retryInMs: number): AcquireResult {
    this.known.delete(keys.circuit);
    return { kind: 'refused', reason: 'circuit_open', retryInMs };
  }

  private admit(keys: ModelKeys, token: string, [, failures, probe]: Extract<AcquireReply, { 0: 'go' }>): CallPermit {
    if (probe === 0) this.rememberFailures(keys, failures);
    return this.createPermit(keys, token, { slot: this.settings.maxConcurrentCalls > 0, probe: probe === 1 });
  }

  private createPermit(keys: ModelKeys, token: string, held: Held): CallPermit {
    const holds = held.slot || held.probe;
    const timer = holds
      ? setInterval(() => void this.renew(keys, token), this.settings.leaseMs / 3).unref()
      : undefined;
    let left = false;
    return {
      probe: held.probe,
      release: async (outcome) => {
        if (left) return;
        left = true;
        clearInterval(timer);
        if (holds || outcome === 'failed' || (outcome === 'answered' && this.failuresOf(keys) > 0))
          await this.release(keys, token, outcome);
      },
    };
  }

  private async renew(keys: ModelKeys, token: string): Promise<void> {
    try {
      await this.redis.run(scripts.renew, [keys.circuit, keys.slots], [token, this.settings.leaseMs]);
    } catch (error) {
      this.settings.logger.warn({ error }, 'model slot renewal failed');
    }
  }

  /** Never rejects: a slot that cannot be released lapses. */
  private async release(keys: ModelKeys, token: string, outcome: CallOutcome): Promise<void> {
    const { failureThreshold, recoveryMs, logger } = this.settings;
    try {
      const args = [token, outcome, failureThreshold, recoveryMs, recoveryMs + FORGET_MS];
      const failures = z.number().parse(await this.redis.run(scripts.release, keysOf(keys), args));
      if (failures >= 0) this.rememberFailures(keys, failures);
      else this.known.delete(keys.circuit);
    } catch (error) {
      logger.warn({ error }, 'could not report model call outcome');
    }
  }

  private mayAdmitLocally(keys: ModelKeys): boolean {
    const nowMs = this.settings.clock.monotonicMs();
    if (nowMs < this.awayUntilMs) return true;
    return this.settings.maxConcurrentCalls === 0 && nowMs < (this.known.get(keys.circuit)?.untilMs ?? nowMs);
  }

  private failuresOf(keys: ModelKeys): number {
    return this.known.get(keys.circuit)?.failures ?? 0;
  }

  private rememberFailures(keys: ModelKeys, failures: number): void {
    const { clock, knownMs } = this.settings;
    this.known.set(keys.circuit, { failures, untilMs: clock.monotonicMs() + knownMs });
  }

  private assumeClosed(error: UnavailableError): void {
    const { clock, knownMs, logger } = this.settings;
    this.awayUntilMs = clock.monotonicMs() + knownMs;
    logger.warn({ error }, 'Redis is unavailable: models are called without slots and circuits');
  }
}

interface WaitingCall {
  readonly token: string;
  /** The user who makes the call. */
  readonly userId: string;
}

interface Held {
  readonly slot: boolean;
  readonly probe: boolean;
}

const NOTHING_HELD: Held = { slot: false, probe: false };

const keysOf = ({ circuit, slots, queue, waiting, turns }: ModelKeys): readonly string[] => [
  ...[circuit, slots, queue, waiting, turns],
];

/** Creates the gate that all processes of an installation share, one per process; all must have the same limits. */
export function redisModelGate(redis: Pick<RedisConnection, 'keys' | 'run'>, options: ModelGateOptions): ModelGate {
  return new RedisModelGate(redis, {
    slotWaitMs: 300_000,
    leaseMs: 30_000,
    knownMs: 1_000,
    clock: systemClock,
    logger: silentLogger,
    ...options,
  });
}

import { RateLimitedError } from '@caribou/contracts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { findPrincipal } from '../auth/principal.js';
import { RefusalDelay } from './refusal-delay.js';
import { SlowDiscard } from './slow-discard.js';

/** Bytes of a body and of an answer that cost one token, so that a large request costs as much as many small ones. */
const BODY_BYTES = 16 * 1024;
const ANSWER_BYTES = 32 * 1024;
/** Users whose bucket is remembered; the least recently seen one is forgotten first and has a full bucket again. */
const MAX_USERS = 10_000;
/** Maximum debt of a bucket, as the time to refill it to zero. */
const MAX_DEBT_SECONDS = 60;

export interface RequestRate {
  readonly requestsPerSecond: number;
  readonly requestBurst: number;
}

interface Bucket {
  level: number;
  atMs: number;
}

/**
 * A token bucket per user. Each gateway has its own buckets: they need no round trip, and protect the gateway's own event
 * loop. Costs of a request beyond one token are charged afterwards and may leave a debt.
 */
export class RequestBudget {
  private readonly buckets = new Map<string, Bucket>();

  constructor(
    private readonly rate: RequestRate,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Takes one token for a request. Returns 0, or, if there is none, the milliseconds until there will be one. */
  take(userId: string): number {
    const bucket = this.refill(userId);
    if (bucket.level < 1) return Math.ceil(((1 - bucket.level) / this.rate.requestsPerSecond) * 1_000);
    bucket.level -= 1;
    return 0;
  }

  /** The error for a request without a token. */
  createRefusal(retryAfterMs: number): RateLimitedError {
    const { requestsPerSecond } = this.rate;
    return new RateLimitedError(
      `more than ${requestsPerSecond} requests per second, large bodies and answers counting as several`,
      { details: { retryAfterMs, limit: requestsPerSecond } },
    );
  }

  chargeBody(userId: string, bytes: number): void {
    this.charge(userId, bytes / BODY_BYTES);
  }

  chargeAnswer(userId: string, bytes: number): void {
    this.charge(userId, bytes / ANSWER_BYTES);
  }

  private charge(userId: string, tokens: number): void {
    const bucket = this.refill(userId);
    const lowest = -this.rate.requestsPerSecond * MAX_DEBT_SECONDS;
    bucket.level = Math.max(bucket.level - Math.floor(tokens), lowest);
  }

  private refill(userId: string): Bucket {
    const { requestsPerSecond, requestBurst } = this.rate;
    const nowMs = this.nowMs();
    const known = this.buckets.get(userId) ?? { level: requestBurst, atMs: nowMs };
    known.level = Math.min(requestBurst, known.level + ((nowMs - known.atMs) / 1_000) * requestsPerSecond);
    known.atMs = nowMs;
    this.buckets.delete(userId);
    this.buckets.set(userId, known);
    if (this.buckets.size > MAX_USERS) this.forgetOldest();
    return known;
  }

  private forgetOldest(): void {
    const [oldest] = this.buckets.keys();
    if (oldest !== undefined) this.buckets.delete(oldest);
  }
}

/** Functions that charge the user of a request for bytes at the rate of answers. */
const charges = new WeakMap<FastifyRequest['raw'], (bytes: number) => void>();

/** Adds bytes that a request has read or copied in the store to its cost. */
export function addStoreWork({ raw }: FastifyRequest, bytes: number): void {
  charges.get(raw)?.(bytes);
}

/** Takes a token for each request of a known user before its body is read, and charges for the answer afterwards. */
export function addRequestBudget(server: FastifyInstance, budget: RequestBudget): void {
  const delay = new RefusalDelay();
  const bodies = new SlowDiscard();
  server.addHook('onRequest', async (request, reply) => {
    const principal = findPrincipal(request);
    if (principal === undefined) return;
    charges.set(request.raw, (bytes) => budget.chargeAnswer(principal.userId, bytes));
    const retryAfterMs = budget.take(principal.userId);
    if (retryAfterMs === 0) return;
    bodies.read(request, reply, principal.userId);
    await delay.pass(principal.userId, retryAfterMs);
    throw budget.createRefusal(retryAfterMs);
  });
  server.addHook('onSend', async (request, _reply, payload) => {
    const principal = findPrincipal(request);
    if (principal !== undefined && typeof payload === 'string') budget.chargeAnswer(principal.userId, payload.length);
    return payload;
  });
}

import { RateLimitedError } from '@caribou/contracts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { findPrincipal } from '../auth/principal.js';
import { RefusalDelay } from './refusal-delay.js';
import { SlowDiscard } from './slow-discard.js';

/** Bytes of a body, and of an answer, that cost as much as a request: a large one is paid for like many small ones. */
const BODY_BYTES = 16 * 1024;
const ANSWER_BYTES = 32 * 1024;
/** Users remembered; the one unseen for longest is forgotten first, which gives it a full bucket. */
const MAX_USERS = 10_000;
/** No debt takes longer than this to pay off. */
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
 * A token bucket per user, of this gateway alone: it costs no round trip, and a gateway protects its own event loop. What
 * a request turns out to cost beyond one token is taken afterwards and may leave a debt.
 */
export class RequestBudget {
  private readonly buckets = new Map<string, Bucket>();

  constructor(
    private readonly rate: RequestRate,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Takes one request. The result is 0, or the milliseconds until the bucket has one where it was not taken. */
  take(userId: string): number {
    const bucket = this.refill(userId);
    if (bucket.level < 1) return Math.ceil(((1 - bucket.level) / this.rate.requestsPerSecond) * 1_000);
    bucket.level -= 1;
    return 0;
  }

  /** The error of a request that was not taken. */
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

/** Charges the user of a request, for bytes as of an answer. */
const charges = new WeakMap<FastifyRequest['raw'], (bytes: number) => void>();

/** Counts bytes that a request has read or copied in the store, beside what it answers, towards its cost. */
export function addStoreWork({ raw }: FastifyRequest, bytes: number): void {
  charges.get(raw)?.(bytes);
}

/** Takes each request of a known user from his budget before its body is read, and charges for the answer afterwards. */
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

import type { Config } from '@caribou/config';
import { omitUndefined } from '@caribou/contracts';
import { createWebhookFetch } from '@caribou/egress';
import { type RedisConnection, redisCrons, redisDelayedRuns, redisOutbox, traceSettings } from '@caribou/state';

/** How much longer than an attempt the lease of a delivery is: for the body, and for the entry of the outcome. */
const DELIVERY_MARGIN_MS = 15_000;

/** The stores of what happens at a time or after a run, and the way out of webhooks. */
export const timedStores = (redis: RedisConnection, { clocks, crons, webhooks, explain }: Config) => ({
  crons: redisCrons(redis, { maxPerUser: crons.maxPerUser }),
  delayedRuns: redisDelayedRuns(redis, {
    eventsTtlMs: clocks.eventsTtlMs,
    idempotencyTtlMs: clocks.idempotencyTtlMs,
    ...omitUndefined({ trace: traceSettings(redis, explain, 'gateway') }),
  }),
  outbox: redisOutbox(redis, {
    perUser: webhooks.maxAtOncePerUser,
    perHost: webhooks.maxAtOncePerHost,
    leaseMs: webhooks.timeoutMs + DELIVERY_MARGIN_MS,
    maxAgeMs: webhooks.maxAgeMs,
    maxFailed: webhooks.maxFailedPerUser,
  }),
  webhookFetch: createWebhookFetch(webhooks),
});

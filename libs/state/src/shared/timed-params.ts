import { cronParams } from '../crons/cron-params.js';
import { outboxParams } from '../outbox/outbox-params.js';
import type { AdmitRequest } from '../ports/admission.js';
import type { RedisConnection } from '../redis/connection.js';
import type { StoreSettings } from '../redis/store-settings.js';

/** Parameters of scripts that end runs which may wait for their time, or have a webhook. */
export const endParams = (redis: RedisConnection, userId: string) => ({
  delayed: redis.keys.delayedRuns(userId),
  outbox: outboxParams(redis, userId),
});

/** Parameters of an admission for the webhook, the delay and the cron of the run, and for the runs that it ends; most have none. */
export function timedParams(
  redis: RedisConnection,
  { userId, webhook, delayMs = 0, cron, multitaskStrategy: strategy }: AdmitRequest,
  { maxDelayedRuns, maxWebhookEvents }: StoreSettings,
) {
  const endsRuns = strategy === 'interrupt' || strategy === 'rollback';
  return {
    ...(endsRuns || webhook !== undefined || delayMs !== 0 ? endParams(redis, userId) : {}),
    ...(webhook === undefined ? {} : { webhook: { url: webhook, max: maxWebhookEvents } }),
    ...(delayMs === 0 ? {} : { delay: { ms: delayMs, max: maxDelayedRuns } }),
    ...(cron === undefined ? {} : { cron: cronParams(redis, userId, cron) }),
  };
}

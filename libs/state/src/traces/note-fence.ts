import type { FenceReason, RunLease } from '../ports/run-store.js';
import { processOf } from '../processes/process-registry.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import type { StoreSettings } from '../redis/store-settings.js';

const script = loadScript('traces/note-fence');

/** Notes are not counted among the steps; this is more than a trace has otherwise. */
const MAX_PARTS = 5_100;

/** Notes in the trace of a run that the owner of `lease` has lost it. */
export async function noteFence(
  redis: RedisConnection,
  { trace }: Pick<StoreSettings, 'trace'>,
  { userId, runId, ownerId }: RunLease,
  reason: FenceReason,
): Promise<void> {
  if (trace === undefined) return;
  await redis.run(script, [redis.keys.runTrace(userId, runId)], [processOf(ownerId) ?? ownerId, reason, MAX_PARTS]);
}

import { ConflictError, NotFoundError } from '@caribou/contracts';
import type { ThreadStore } from '../ports/thread-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import type { StoreSettings } from '../redis/store-settings.js';
import { callThread } from '../redis/thread-call.js';
import { toEndedRuns } from './admission.js';
import { traceTtl } from '../traces/trace-call.js';
import { endParams } from '../shared/timed-params.js';

const scripts = { remove: loadScript('runs/delete-run'), cancel: loadScript('runs/cancel') };

export function runRemoval(redis: RedisConnection, settings: StoreSettings): Pick<ThreadStore, 'deleteRun'> {
  const logParams = {
    events_ttl_ms: settings.eventsTtlMs,
    ...traceTtl(settings),
    idempotency_ttl_ms: settings.idempotencyTtlMs,
    max_log_bytes: settings.maxLogBytes,
  };
  return {
    deleteRun: async (thread, runId) => {
      const details = { runId };
      const noRun = (): NotFoundError => new NotFoundError(`Run ${runId} does not exist`, { details });
      const [removal] = await callThread(redis, thread, scripts.remove, { params: { run: runId } });
      if (removal === 'no_run') throw noRun();
      if (removal !== 'in_flight') return [];
      // A rollback removes the record of a run that never started.
      const params = { ...logParams, ...endParams(redis, thread.userId), run: runId, action: 'rollback' };
      const reply = await callThread(redis, thread, scripts.cancel, { params: { ...params, only_delayed: true } });
      if (reply[0] === 'no_run') throw noRun();
      if (reply[0] === 'in_flight') throw new ConflictError('the run is in flight: cancel it first', { details });
      return toEndedRuns(reply[3]);
    },
  };
}

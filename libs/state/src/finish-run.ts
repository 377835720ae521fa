import type { RunEvent } from '@caribou/contracts';
import type { FinishRequest, FinishResult, RunLease } from '@caribou/core';
import { appendedBy, checkpointCall, checkpointEvent, draftOf, progressParams, texts } from './commit-call.js';
import type { RedisConnection } from './connection.js';
import { loadScript } from './scripts.js';
import type { StoreSettings } from './store-settings.js';
import { callOwned } from './thread-call.js';

const script = loadScript('finish');

/**
 * Ends the run that the lease is for. A run whose cancel flag says rollback is rolled back whatever the request says,
 * and then only its `end` is appended.
 *
 * @throws {FencedError} when the caller is not the owner
 */
export async function finishRun(
  redis: RedisConnection,
  settings: StoreSettings,
  lease: RunLease,
  request: FinishRequest,
): Promise<FinishResult> {
  const { commit } = request;
  const draft = commit === undefined ? undefined : draftOf(commit, lease.runId);
  const call = draft === undefined ? undefined : checkpointCall(draft, null);
  const reply = await callOwned(redis, lease, script, {
    params: {
      status: request.status,
      stop_reason: request.stopReason ?? '',
      error: request.error === undefined ? '' : JSON.stringify(request.error),
      rollback: request.rollback ?? false,
      more_events: request.events.length,
      events_ttl_ms: settings.eventsTtlMs,
      max_log_bytes: settings.maxLogBytes,
      kept_checkpoints: settings.keptCheckpoints,
      ...progressParams(commit),
      commit: call?.params,
    },
    texts: [...texts(commit?.events ?? []), ...(call?.texts ?? []), ...texts(request.events)],
  });
  const [, rolledBack, first, checkpointId, createdAt, more] = reply;
  const end = (status: FinishRequest['status']): RunEvent => ({ kind: 'end', status });
  if (rolledBack === 1) return { appended: appendedBy(first, [end('interrupted')]), more: more === 1 };
  const written = draft === undefined ? [] : [checkpointEvent(draft, { checkpointId: String(checkpointId), createdAt: String(createdAt) })];
  return {
    appended: appendedBy(first, commit?.events ?? [], written, request.events, [end(request.status)]),
    more: more === 1,
  };
}

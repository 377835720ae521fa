import type { CronReply, CronSpec } from '@caribou/contracts';
import { parseAssistantId } from '../assistants/assistant-catalog.js';
import type { ReadCron } from './cron-spec.js';

/** A cron as LangGraph's clients see it. */
export function cronJson({ stored, spec }: ReadCron): CronReply {
  const asked = spec.request['assistant_id'];
  return {
    cron_id: stored.cronId,
    assistant_id: parseAssistantId(String(asked)).assistantId,
    thread_id: spec.thread_id,
    on_run_completed: spec.on_run_completed,
    end_time: spec.end_time,
    schedule: scheduleText(spec.times),
    timezone: spec.timezone,
    created_at: stored.createdAt,
    updated_at: stored.updatedAt,
    user_id: stored.userId,
    payload: spec.request,
    next_run_date: isoOrNull(stored.dueMs),
    metadata: spec.metadata,
    enabled: spec.enabled,
    last_error: stored.lastError,
  };
}

export function scheduleText(times: CronSpec['times']): string {
  switch (times.type) {
    case 'cron':
      return times.expression;
    case 'once':
      return times.at;
    case 'interval':
      return `every ${times.every_seconds} s`;
  }
}

export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

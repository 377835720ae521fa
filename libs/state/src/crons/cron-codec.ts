import type { StoredCron } from '../ports/cron-store.js';
import { hashOf } from '../redis/hash.js';

const textOrNull = (text: string | undefined): string | null => (text === undefined || text === '' ? null : text);

/** Decodes the record that `crons/put-cron.lua` wrote. */
export function cronOf(userId: string, cronId: string, flat: unknown): StoredCron {
  const hash = hashOf(flat);
  const due = textOrNull(hash.get('due'));
  return {
    userId,
    cronId,
    spec: hash.get('spec') ?? '',
    dueMs: due === null ? null : Number(due),
    version: Number(hash.get('version')),
    createdAt: hash.get('created_at') ?? '',
    updatedAt: hash.get('updated_at') ?? '',
    started: Number(hash.get('started') ?? 0),
    automatic: Number(hash.get('automatic') ?? 0),
    stoppedBy: textOrNull(hash.get('stopped_by')),
    missed: Number(hash.get('missed') ?? 0),
    retries: Number(hash.get('retries') ?? 0),
    lastAt: textOrNull(hash.get('last_at')),
    lastRunId: textOrNull(hash.get('last_run')),
    lastThreadId: textOrNull(hash.get('last_thread')),
    lastError: textOrNull(hash.get('last_error')),
  };
}

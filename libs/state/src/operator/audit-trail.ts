import { MAX_AUDIT_LINES } from '../executions/audit-log.js';
import type { AdminLine } from '../ports/admission.js';
import type { RedisConnection } from '../redis/connection.js';

/** A line of the audit and its position, `<ms>-<number>`. */
export interface AuditEntry {
  readonly id: string;
  /** The line as JSON. */
  readonly line: string;
}

export interface AuditRange {
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly count: number;
}

/** The audit as administrators read it. All methods throw UnavailableError when Redis does not answer in time. */
export interface AuditTrail {
  /** Newest first. @param before the position that the lines are older than */
  newest(range: AuditRange, before?: string): Promise<readonly AuditEntry[]>;
  /** Oldest first. @param after the position that the lines are newer than */
  oldest(range: AuditRange, after?: string): Promise<readonly AuditEntry[]>;
  /** Writes what an administrator is about to do, or why it was not done. */
  write(line: AdminLine): Promise<void>;
}

/** The audit stream as administrators read it. Reading needs no script: an entry never changes. */
export function redisAuditTrail(redis: RedisConnection): AuditTrail {
  const { audit } = redis.keys;
  const startOf = ({ fromMs }: AuditRange): string => (fromMs === undefined ? '-' : String(fromMs));
  const endOf = ({ toMs }: AuditRange): string => (toMs === undefined ? '+' : String(toMs));
  return {
    newest: async (range, before) => {
      const end = before === undefined ? endOf(range) : `(${before}`;
      return entriesOf(await redis.use((client) => client.xrevrange(audit, end, startOf(range), 'COUNT', range.count)));
    },
    oldest: async (range, after) => {
      const start = after === undefined ? startOf(range) : `(${after}`;
      return entriesOf(await redis.use((client) => client.xrange(audit, start, endOf(range), 'COUNT', range.count)));
    },
    write: async (line) => {
      const text = JSON.stringify({ at: new Date().toISOString(), ...line });
      await redis.use((client) => client.xadd(audit, 'MAXLEN', '~', MAX_AUDIT_LINES, '*', 'line', text));
    },
  };
}

/** An entry has one field, `line`. */
const entriesOf = (found: readonly (readonly [id: string, fields: readonly string[]])[]): AuditEntry[] =>
  found.map(([id, fields]) => ({ id, line: fields[1] ?? '' }));

import type { AdminLine } from '../ports/admission.js';
import type { RedisConnection } from '../redis/connection.js';

/** One completed operation on a sandbox. Absent fields do not apply or are unknown. */
export interface AuditLine {
  /** A unique id; a line that was written twice has the same id twice. */
  readonly id: string;
  /** When the operation ended, ISO 8601. */
  readonly at: string;
  /** The user and the run that requested the operation. */
  readonly user_id: string;
  readonly thread_id: string;
  readonly run_id?: string;
  readonly tool_call_id?: string;
  readonly operation: string;
  /** The command or path, cut at 2 KiB. */
  readonly what?: string;
  /** The verdict of the command rules, and the ids of those that matched. */
  readonly command_verdict?: string;
  readonly rules?: readonly string[];
  /** The outcome as the reply names it, or `error:<code>`. */
  readonly verdict: string;
  /** Bytes of output, of text read, or written. */
  readonly bytes?: number;
  readonly exit_code?: number;
  readonly duration_ms: number;
  readonly manager_id: string;
  readonly driver?: string;
  /** The administrator who did it to the sandbox of another user, and the address of the client. */
  readonly decided_by?: string;
  readonly decided_from?: string;
}

export interface AuditLog {
  /** Appends the lines in their order. @throws {UnavailableError} when Redis is away; some may have been written */
  append(lines: readonly AuditLine[]): Promise<void>;
}

/** The number of lines retained, at most about 300 MB; the oldest are removed first. */
export const MAX_AUDIT_LINES = 100_000;

/**
 * The audit stream. It is a Redis stream and not a JetStream one: every execution needs Redis anyway, which holds its
 * journal, so a line can be lost only together with the record of its operation. Each entry has one field, `line`, with
 * the JSON.
 */
export function redisAuditLog(redis: RedisConnection): AuditLog {
  return {
    append: async (lines) => {
      await redis.use((client) =>
        Promise.all(
          lines.map((line) =>
            client.xadd(redis.keys.audit, 'MAXLEN', '~', MAX_AUDIT_LINES, '*', 'line', JSON.stringify(line)),
          ),
        ),
      );
    },
  };
}

/** The parameter `audit` of scripts that write what an administrator did (`letters/audit-line.lua`). */
export const auditLineParams = ({ keys }: RedisConnection, line: AdminLine) => ({
  audit: { key: keys.audit, line: JSON.stringify(line), max: MAX_AUDIT_LINES },
});

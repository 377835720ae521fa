import type { RedisConnection } from '../redis/connection.js';

/** One operation on a sandbox, as it ended. Absent fields do not apply or were not told. */
export interface AuditLine {
  /** Unique; a line that was written twice has it twice. */
  readonly id: string;
  /** When the operation ended, ISO 8601. */
  readonly at: string;
  /** Who. */
  readonly user_id: string;
  readonly thread_id: string;
  readonly run_id?: string;
  readonly tool_call_id?: string;
  readonly operation: string;
  /** Command or path, cut at 2 KiB. */
  readonly what?: string;
  /** What the rules for commands said, and the ids of those that matched. */
  readonly command_verdict?: string;
  readonly rules?: readonly string[];
  /** How the reply calls the outcome, or `error:<code>`. */
  readonly verdict: string;
  /** Bytes of output, of text read, or written. */
  readonly bytes?: number;
  readonly exit_code?: number;
  readonly duration_ms: number;
  readonly manager_id: string;
  readonly driver?: string;
}

export interface AuditLog {
  /** Appends the lines in their order. @throws {UnavailableError} when Redis is away; some may have been written */
  append(lines: readonly AuditLine[]): Promise<void>;
}

/** Lines that are kept, about 300 MB at the very most; the oldest go first. */
const MAX_LINES = 100_000;

/**
 * The audit stream. It is a Redis stream and not a JetStream one: Redis holds the truth that the lines speak of and is
 * needed for every execution anyway, so a line can be lost only together with what it tells of. Each entry has one
 * field, `line`, with the JSON.
 */
export function redisAuditLog(redis: RedisConnection): AuditLog {
  return {
    append: async (lines) => {
      await redis.use((client) =>
        Promise.all(
          lines.map((line) =>
            client.xadd(redis.keys.audit, 'MAXLEN', '~', MAX_LINES, '*', 'line', JSON.stringify(line)),
          ),
        ),
      );
    },
  };
}

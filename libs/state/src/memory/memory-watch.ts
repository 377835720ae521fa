import { AppError, RateLimitedError, UnavailableError } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import type { RedisConnection } from '../redis/connection.js';

export interface MemoryWatchOptions {
  /** Part of Redis' maxmemory above which there is no room. */
  readonly maxShare: number;
  readonly logger: Logger;
  /** Default 1 s. */
  readonly everyMs?: number;
}

/** A hint: memory is freed when runs end and threads are deleted. */
const RETRY_AFTER_MS = 5_000;

/**
 * How full Redis is, looked at each second, so that new work is refused while what runs can still end. A Redis without
 * maxmemory, or one that forbids INFO, is never full.
 */
export class MemoryWatch {
  private full = false;
  private forbidden = false;
  private looking: Promise<void> | undefined;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly redis: Pick<RedisConnection, 'use'>,
    private readonly options: MemoryWatchOptions,
  ) {
    this.timer = setInterval(() => void this.lookNow(), options.everyMs ?? 1_000);
    this.timer.unref();
  }

  /** @throws {RateLimitedError} when Redis was too full at the last look */
  assertRoom(): void {
    if (!this.full) return;
    const percent = Math.round(this.options.maxShare * 100);
    throw new RateLimitedError(`the store is more than ${percent} % full: no new runs until memory is freed`, {
      details: { retryAfterMs: RETRY_AFTER_MS },
    });
  }

  /** Looks at once; joins a look under way. Never rejects: while Redis is away, what was seen last holds. */
  lookNow(): Promise<void> {
    this.looking ??= this.look().finally(() => {
      this.looking = undefined;
    });
    return this.looking;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    const { maxShare, logger } = this.options;
    try {
      const info = await this.redis.use((client) => client.info('memory'));
      const [used, max] = [fieldOf(info, 'used_memory'), fieldOf(info, 'maxmemory')];
      const full = max > 0 && used > maxShare * max;
      if (full !== this.full) {
        const fields = { event: 'redis.memory', outcome: full ? 'limit' : 'ok', usedBytes: used, limitBytes: max };
        logger.warn(fields, full ? 'Redis is nearly full: new runs are refused' : 'Redis has room again');
      }
      this.full = full;
    } catch (error) {
      if (error instanceof UnavailableError) return;
      if (!(error instanceof AppError)) throw error;
      this.full = false;
      if (!this.forbidden) logger.warn({ event: 'redis.memory', error }, 'Redis forbids INFO: memory is not watched');
      this.forbidden = true;
    }
  }
}

/** A number of an INFO reply, whose lines are `name:value`; 0 when it is not there. */
const fieldOf = (info: string, name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);

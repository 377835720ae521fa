import { AppError, RateLimitedError, UnavailableError } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import type { RedisConnection } from '../redis/connection.js';

export interface MemoryWatchOptions {
  /** The part of Redis' maxmemory above which new runs are refused. */
  readonly maxShare: number;
  readonly logger: Logger;
  /** How often to poll, default 1 s. */
  readonly everyMs?: number;
}

/**
 * Polls the memory of Redis, so that new runs are refused while running ones can still end. A Redis without maxmemory, or
 * one that forbids INFO, is never full.
 */
export class MemoryWatch {
  private full = false;
  private forbidden = false;
  private share = NaN;
  private polling: Promise<void> | undefined;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly redis: Pick<RedisConnection, 'use'>,
    private readonly options: MemoryWatchOptions,
  ) {
    this.timer = setInterval(() => void this.lookNow(), options.everyMs ?? 1_000);
    this.timer.unref();
  }

  /** @throws {RateLimitedError} when Redis was too full at the last poll */
  assertRoom(): void {
    if (!this.full) return;
    const percent = Math.round(this.options.maxShare * 100);
    throw new RateLimitedError(`the store is more than ${percent} % full: no new runs until memory is freed`, {
      details: { refusal: 'store_full' },
    });
  }

  /** The used part of maxmemory at the last poll: 0 without a maxmemory, NaN when Redis has not said it. */
  get usedShare(): number {
    return this.share;
  }

  /** Polls at once, or joins a poll under way. Never rejects: while Redis is unavailable, the last result remains. */
  lookNow(): Promise<void> {
    this.polling ??= this.poll().finally(() => {
      this.polling = undefined;
    });
    return this.polling;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private async poll(): Promise<void> {
    const { maxShare, logger } = this.options;
    try {
      const info = await this.redis.use((client) => client.info('memory'));
      const [used, max] = [fieldOf(info, 'used_memory'), fieldOf(info, 'maxmemory')];
      this.share = max > 0 ? used / max : 0;
      const full = this.share > maxShare;
      if (full !== this.full) {
        const fields = { event: 'redis.memory', outcome: full ? 'limit' : 'ok', usedBytes: used, limitBytes: max };
        logger.warn(
          fields,
          full ? 'Redis is nearly full: new runs are refused' : 'Redis has free memory again: new runs are accepted',
        );
      }
      this.full = full;
    } catch (error) {
      this.share = NaN;
      if (error instanceof UnavailableError) return;
      if (!(error instanceof AppError)) throw error;
      this.full = false;
      if (!this.forbidden) logger.warn({ event: 'redis.memory', error }, 'Redis forbids INFO: memory is not watched');
      this.forbidden = true;
    }
  }
}

/** A number of an INFO reply, whose lines are `name:value`; 0 when it is absent. */
const fieldOf = (info: string, name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);

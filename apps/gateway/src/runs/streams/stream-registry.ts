import { RateLimitedError } from '@caribou/contracts';
import type { ResponseWriter } from './response-writer.js';

/** The long responses of this process: counted per user, and broken off when the process stops. */
export class StreamRegistry {
  private readonly writers = new Set<ResponseWriter>();
  private readonly perUser = new Map<string, number>();

  constructor(private readonly maxPerUser: number) {}

  /**
   * Takes a place for one long response; the returned function gives it back, once.
   *
   * @throws {RateLimitedError} when the user has too many open
   */
  take(userId: string): () => void {
    const open = this.perUser.get(userId) ?? 0;
    if (open >= this.maxPerUser) {
      throw new RateLimitedError(`${open} event streams are open, which is the limit`, {
        details: { retryAfterMs: 5_000 },
      });
    }
    this.perUser.set(userId, open + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const left = (this.perUser.get(userId) ?? 1) - 1;
      if (left > 0) this.perUser.set(userId, left);
      else this.perUser.delete(userId);
    };
  }

  add(writer: ResponseWriter): void {
    this.writers.add(writer);
  }

  remove(writer: ResponseWriter): void {
    this.writers.delete(writer);
  }

  /** Breaks every response off without an end, so that clients go on at another gateway. Runs are left alone. */
  cutAll(): void {
    for (const writer of this.writers) writer.cut('shutdown');
  }
}

import { RateLimitedError } from '@caribou/contracts';
import type { SseWriter } from './sse-writer.js';

/** The long responses of this process. They are counted per user, and broken off when the process stops. */
export class StreamRegistry {
  private readonly writers = new Set<SseWriter>();
  private readonly perUser = new Map<string, number>();

  constructor(private readonly maxPerUser: number) {}

  /** How many are open. */
  get size(): number {
    return this.writers.size;
  }

  /** How many responses the user may open in addition, and how many at all. */
  roomOf(userId: string): { readonly quota: number; readonly remaining: number } {
    const open = this.perUser.get(userId) ?? 0;
    return { quota: this.maxPerUser, remaining: Math.max(0, this.maxPerUser - open) };
  }

  /**
   * Counts one long response of the user; the returned function, which may be called twice, releases it.
   *
   * @throws {RateLimitedError} when the user has too many open
   */
  take(userId: string): () => void {
    const open = this.perUser.get(userId) ?? 0;
    if (open >= this.maxPerUser) throw new RateLimitedError(`${open} event streams are open, which is the limit`);
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

  add(writer: SseWriter): void {
    this.writers.add(writer);
  }

  remove(writer: SseWriter): void {
    this.writers.delete(writer);
  }

  /** Breaks off every response without an end, so that clients reconnect to another gateway. Runs are not affected. */
  cutAll(): void {
    for (const writer of this.writers) writer.cut('shutdown');
  }
}

import { QuotaError, type QuotaUse } from '@caribou/contracts';

/** A long response, or a socket. */
export interface OpenStream {
  cut(reason: 'shutdown'): void;
}

/** The long responses of this process. They are counted per user, and broken off when the process stops. */
export class StreamRegistry {
  private readonly writers = new Set<OpenStream>();
  private readonly perUser = new Map<string, number>();

  constructor(private readonly maxPerUser: number) {}

  /** How many are open. */
  get size(): number {
    return this.writers.size;
  }

  /** How many responses the user has open, and how many are allowed. */
  useOf(userId: string): QuotaUse {
    return { quota: 'streams', limit: this.maxPerUser, used: this.perUser.get(userId) ?? 0 };
  }

  /**
   * Counts one long response of the user; the returned function, which may be called twice, releases it.
   *
   * @throws {QuotaError} when the user has too many open
   */
  take(userId: string): () => void {
    const open = this.perUser.get(userId) ?? 0;
    if (open >= this.maxPerUser)
      throw new QuotaError(
        `${open} event streams are open, which is the limit (quotas.max_streams_per_user)`,
        this.useOf(userId),
      );
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

  add(writer: OpenStream): void {
    this.writers.add(writer);
  }

  remove(writer: OpenStream): void {
    this.writers.delete(writer);
  }

  /** Breaks off every response without an end, so that clients reconnect to another gateway. Runs are not affected. */
  cutAll(): void {
    for (const writer of this.writers) writer.cut('shutdown');
  }
}

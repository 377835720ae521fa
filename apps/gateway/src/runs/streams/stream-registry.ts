import { QuotaError, type QuotaUse, UnavailableError } from '@caribou/contracts';
import { SlotSet } from '@caribou/core';

/** A long response, or a socket. */
export interface OpenStream {
  cut(reason: 'shutdown'): void;
}

/** The long responses of this process. They are counted per user, and broken off when the process stops. */
export class StreamRegistry {
  private readonly writers = new SlotSet<OpenStream>();
  private readonly perUser = new Map<string, number>();
  private closed = false;

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
   * @throws {UnavailableError} when the gateway is stopping
   */
  take(userId: string): () => void {
    if (this.closed)
      throw new UnavailableError('this gateway is stopping: ask again', { details: { dependency: 'gateway' } });
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

  /** @returns a function that removes it */
  add(writer: OpenStream): () => void {
    return this.writers.add(writer);
  }

  /** Breaks off every response without an end, so that clients reconnect to another gateway, and opens no more. Runs are not affected. */
  cutAll(): void {
    this.closed = true;
    for (const writer of this.writers) writer.cut('shutdown');
  }
}

import { RateLimitedError } from '@caribou/contracts';

export interface GateLimits {
  /** Inside at once. */
  readonly maxAtOnce: number;
  /** Waiting before it: of each owner, and eight times that of all. */
  readonly maxWaiting: number;
}

/** Somebody on behalf of an owner; '' is nobody in particular. */
export interface Visitor {
  readonly owner?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Owners whose lists may be full at the same time. */
const FULL_OWNERS = 8;

/**
 * Lets `maxAtOnce` in, the owners in turn: who waits is behind one visitor of each other owner at most, however many those
 * have sent. An owner is inside one time fewer than there is room, so that another one need not wait for his to end.
 */
export class FairGate {
  /** Who waits, by owner. */
  private readonly waiting = new Map<string, (() => void)[]>();
  private readonly inside = new Map<string, number>();
  /** The number of the last visit of owners who wait or are inside. */
  private readonly lastVisit = new Map<string, number>();
  private visits = 0;
  private readonly maxOfOwner: number;

  constructor(private readonly limits: GateLimits) {
    this.maxOfOwner = Math.max(limits.maxAtOnce - 1, 1);
  }

  /** Resolves inside, with the way out. @throws {RateLimitedError} when too many wait, or the reason of the signal */
  async enter({ owner = '', signal }: Visitor): Promise<() => void> {
    signal?.throwIfAborted();
    const queue = this.waiting.get(owner) ?? [];
    const all = [...this.waiting.values()].reduce((sum, { length }) => sum + length, 0);
    const { maxWaiting } = this.limits;
    if (!this.hasRoom(owner) && (queue.length >= maxWaiting || all >= FULL_OWNERS * maxWaiting))
      throw new RateLimitedError('too many documents wait for conversion');
    await new Promise<void>((enter, reject) => {
      const admitted = (): void => {
        signal?.removeEventListener('abort', abandoned);
        enter();
      };
      const abandoned = (): void => {
        this.withdraw(owner, admitted);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', abandoned, { once: true });
      this.waiting.set(owner, [...queue, admitted]);
      this.admit();
    });
    return () => this.leave(owner);
  }

  private hasRoom(owner: string): boolean {
    return (
      this.insideNow() < this.limits.maxAtOnce && (owner === '' || (this.inside.get(owner) ?? 0) < this.maxOfOwner)
    );
  }

  private insideNow(): number {
    return [...this.inside.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Lets in whoever may; of the owners the one whose last visit is longest ago. */
  private admit(): void {
    for (let owner = this.next(); owner !== undefined; owner = this.next()) {
      const [first, ...rest] = this.waiting.get(owner) ?? [];
      this.setWaiting(owner, rest);
      this.inside.set(owner, (this.inside.get(owner) ?? 0) + 1);
      this.visits += 1;
      this.lastVisit.set(owner, this.visits);
      first?.();
    }
  }

  private next(): string | undefined {
    const visitOf = (owner: string): number => this.lastVisit.get(owner) ?? 0;
    const may = [...this.waiting.keys()].filter((owner) => this.hasRoom(owner));
    return may.sort((one, other) => visitOf(one) - visitOf(other))[0];
  }

  private setWaiting(owner: string, queue: (() => void)[]): void {
    if (queue.length > 0) this.waiting.set(owner, queue);
    else this.waiting.delete(owner);
    if (queue.length === 0 && !this.inside.has(owner)) this.lastVisit.delete(owner);
  }

  private leave(owner: string): void {
    const left = (this.inside.get(owner) ?? 1) - 1;
    if (left === 0) this.inside.delete(owner);
    else this.inside.set(owner, left);
    this.setWaiting(owner, this.waiting.get(owner) ?? []);
    this.admit();
  }

  private withdraw(owner: string, visitor: () => void): void {
    const queue = this.waiting.get(owner) ?? [];
    this.setWaiting(
      owner,
      queue.filter((one) => one !== visitor),
    );
  }
}

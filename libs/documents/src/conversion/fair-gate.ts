import { type QueueState, RateLimitedError } from '@caribou/contracts';

export interface GateLimits {
  /** Concurrent permits. */
  readonly maxAtOnce: number;
  /** Maximum waiting requests of each owner, and eight times that in total. */
  readonly maxWaiting: number;
}

/** A request on behalf of an owner; '' is no particular owner. */
export interface GateRequest {
  readonly owner?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface WaitingRequest {
  readonly admit: () => void;
  readonly sinceMs: number;
}

/** Number of owners whose queues may be full at the same time. */
const FULL_OWNERS = 8;

/**
 * Limits concurrency to `maxAtOnce` with the owners in turn: a request waits for at most one request of each other
 * owner, however many those have queued. An owner gets at most one permit fewer than the limit, so that others need not
 * wait for it.
 */
export class FairGate {
  /** Waiting requests by owner. */
  private readonly waiting = new Map<string, WaitingRequest[]>();
  private readonly inside = new Map<string, number>();
  /** Sequence number of the last admission, of owners with waiting or admitted requests. */
  private readonly lastVisit = new Map<string, number>();
  private visits = 0;
  private readonly maxOfOwner: number;

  constructor(private readonly limits: GateLimits) {
    this.maxOfOwner = Math.max(limits.maxAtOnce - 1, 1);
  }

  /**
   * Resolves with the function that releases the permit. @throws {RateLimitedError} when too many wait, or the reason
   * of the signal
   */
  async acquire({ owner = '', signal }: GateRequest): Promise<() => void> {
    signal?.throwIfAborted();
    const queue = this.waiting.get(owner) ?? [];
    const all = [...this.waiting.values()].reduce((sum, { length }) => sum + length, 0);
    const { maxWaiting } = this.limits;
    if (!this.hasRoom(owner) && (queue.length >= maxWaiting || all >= FULL_OWNERS * maxWaiting))
      throw new RateLimitedError('too many documents wait for conversion');
    await new Promise<void>((enter, reject) => {
      const onAdmitted = (): void => {
        signal?.removeEventListener('abort', onAbort);
        enter();
      };
      const onAbort = (): void => {
        this.withdraw(owner, onAdmitted);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.waiting.set(owner, [...queue, { admit: onAdmitted, sinceMs: performance.now() }]);
      this.admit();
    });
    return () => this.release(owner);
  }

  /** The requests that wait for a permit. */
  queueState(): QueueState {
    const waiting = [...this.waiting.values()].flat();
    const nowMs = performance.now();
    return { length: waiting.length, oldestWaitMs: Math.max(0, ...waiting.map(({ sinceMs }) => nowMs - sinceMs)) };
  }

  private hasRoom(owner: string): boolean {
    return (
      this.insideNow() < this.limits.maxAtOnce && (owner === '' || (this.inside.get(owner) ?? 0) < this.maxOfOwner)
    );
  }

  /** How many permits are in use. */
  insideNow(): number {
    return [...this.inside.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Admits waiting requests while possible, first of the owner whose last admission was longest ago. */
  private admit(): void {
    for (let owner = this.next(); owner !== undefined; owner = this.next()) {
      const [first, ...rest] = this.waiting.get(owner) ?? [];
      this.setWaiting(owner, rest);
      this.inside.set(owner, (this.inside.get(owner) ?? 0) + 1);
      this.visits += 1;
      this.lastVisit.set(owner, this.visits);
      first?.admit();
    }
  }

  private next(): string | undefined {
    const visitOf = (owner: string): number => this.lastVisit.get(owner) ?? 0;
    const may = [...this.waiting.keys()].filter((owner) => this.hasRoom(owner));
    return may.sort((one, other) => visitOf(one) - visitOf(other))[0];
  }

  private setWaiting(owner: string, queue: WaitingRequest[]): void {
    if (queue.length > 0) this.waiting.set(owner, queue);
    else this.waiting.delete(owner);
    if (queue.length === 0 && !this.inside.has(owner)) this.lastVisit.delete(owner);
  }

  private release(owner: string): void {
    const left = (this.inside.get(owner) ?? 1) - 1;
    if (left === 0) this.inside.delete(owner);
    else this.inside.set(owner, left);
    this.setWaiting(owner, this.waiting.get(owner) ?? []);
    this.admit();
  }

  private withdraw(owner: string, admit: () => void): void {
    const queue = this.waiting.get(owner) ?? [];
    this.setWaiting(
      owner,
      queue.filter((one) => one.admit !== admit),
    );
  }
}

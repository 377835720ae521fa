/** What can hold its writes back: a `net.Socket`. */
export interface CorkableStream {
  cork(): void;
  uncork(): void;
}

export interface WriteRate {
  /** Writes per second that a busy stream keeps to. */
  readonly sustainedPerSecond: number;
  /** Writes that may follow one another faster after a quiet time, default 16: one turn's commands never wait. */
  readonly burst?: number;
}

/**
 * Lets what is written at about the same time go out in one write: each costs both ends more than a small message in
 * it. What one turn of the event loop writes goes out at its end; when that would be more often than the sustained
 * rate, the time until the next write is shared. A token bucket, so that nothing waits while there is time to spare.
 */
export class WriteCoalescer {
  private corked: CorkableStream | undefined;
  private readonly burst: number;
  private readonly msPerWrite: number;
  private credit: number;
  private countedMs = performance.now();

  constructor({ sustainedPerSecond, burst = 16 }: WriteRate) {
    this.burst = burst;
    this.credit = burst;
    this.msPerWrite = 1_000 / sustainedPerSecond;
  }

  /** Call before each write to `stream`. Another stream (after a reconnect) begins anew. */
  cork(stream: CorkableStream): void {
    if (this.corked === stream) return;
    this.corked = stream;
    stream.cork();
    const release = (): void => {
      if (this.corked === stream) this.corked = undefined;
      stream.uncork();
    };
    const waitMs = this.takeToken();
    if (waitMs < 1) setImmediate(release);
    else setTimeout(release, waitMs);
  }

  /** Milliseconds until the next write is due. */
  private takeToken(): number {
    const nowMs = performance.now();
    this.credit = Math.min(this.burst, this.credit + (nowMs - this.countedMs) / this.msPerWrite) - 1;
    this.countedMs = nowMs;
    return Math.max(0, -this.credit * this.msPerWrite);
  }
}

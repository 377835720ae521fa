/** A stream that can buffer its writes: a `net.Socket`. */
export interface CorkableStream {
  cork(): void;
  uncork(): void;
}

export interface WriteRate {
  /** Sustained writes per second of a busy stream. */
  readonly sustainedPerSecond: number;
  /** Writes that may exceed the rate after an idle time, default 16, so that one turn's commands never wait. */
  readonly burst?: number;
}

/**
 * Combines messages that are sent at about the same time into one write, as each write costs both ends more than a
 * small message. Messages of one turn of the event loop are written at its end; above the sustained rate, further
 * messages join the next write. A token bucket, so that nothing waits while the stream is idle.
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

  /** Call before each write to `stream`. Another stream (after a reconnect) starts over. */
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

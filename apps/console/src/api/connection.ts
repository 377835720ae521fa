import { Store } from './store.js';

export type ConnectionState = 'up' | 'down';

interface ConnectionOptions {
  /** Asks the gateway whether it lives. Never rejects. */
  readonly probe: () => Promise<boolean>;
  /** Waits, in milliseconds, between two probes while the gateway does not answer; the last one repeats. */
  readonly pausesMs?: readonly number[];
}

const PAUSES_MS = [1_000, 2_000, 4_000, 8_000, 10_000];

/**
 * Whether the gateway answers. A request without an answer is checked by a probe at once, and from then on probes follow until one is
 * answered; while everything is well there are none.
 */
export class Connection {
  readonly state = new Store<ConnectionState>('up');
  private readonly probe: () => Promise<boolean>;
  private readonly pausesMs: readonly number[];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isProbing = false;
  /** Answers so far, as one that arrives during a probe is newer than the result of that. */
  private answers = 0;
  private failures = 0;

  constructor({ probe, pausesMs = PAUSES_MS }: ConnectionOptions) {
    this.probe = probe;
    this.pausesMs = pausesMs;
  }

  /** A request got no answer. */
  noteLoss(): void {
    if (this.timer === undefined) void this.ask();
  }

  /** A request was answered by the gateway. */
  noteAnswer(): void {
    this.answers += 1;
    this.stop();
    this.state.write('up');
  }

  /** Probes without waiting for the next time. */
  retryNow(): void {
    this.stop();
    void this.ask();
  }

  private async ask(): Promise<void> {
    if (this.isProbing) return;
    this.isProbing = true;
    const before = this.answers;
    const isAlive = await this.probe();
    this.isProbing = false;
    if (isAlive) this.noteAnswer();
    if (before !== this.answers) return;
    const pauseMs = this.pausesMs[Math.min(this.failures, this.pausesMs.length - 1)] ?? 0;
    this.failures += 1;
    this.state.write('down');
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      void this.ask();
    }, pauseMs);
  }

  private stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.failures = 0;
  }
}

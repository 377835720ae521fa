import { StringDecoder } from 'node:string_decoder';
import type { OutputPiece } from '@caribou/contracts';
import type { Clock, OutputListener } from '@caribou/core';

export interface LiveOutputOptions {
  readonly publish: (piece: OutputPiece) => void;
  readonly clock: Clock;
  /** Time after the first output before the first piece is published; shorter commands publish nothing. */
  readonly quietMs?: number;
  /** Minimum time between two pieces. */
  readonly intervalMs?: number;
  /** Maximum characters of each stream in one piece; the newest ones are published. */
  readonly maxPieceChars?: number;
  /** Maximum characters that are published of one command. */
  readonly maxChars?: number;
}

/** Output of one stream that has not been published yet. */
interface Pending {
  text: string;
  readonly decoder: StringDecoder;
}

/**
 * Publishes the output of a command while it runs.
 *
 *  O1  Nothing is published in the first `quietMs` after the first output, then at most one piece per `intervalMs`, and
 *      none while the command is silent.
 *  O2  A piece contains the newest output since the previous piece, in whole characters, and the number of characters
 *      that it omits.
 *  O3  When `maxChars` are reached, one last piece says that the output is truncated.
 *  O4  Nothing is published after `end`.
 */
export class LiveOutput {
  private readonly out: Pending = { text: '', decoder: new StringDecoder('utf8') };
  private readonly err: Pending = { text: '', decoder: new StringDecoder('utf8') };
  private readonly ending = new AbortController();
  private readonly limits: Required<Omit<LiveOutputOptions, 'publish' | 'clock'>>;
  private omittedChars = 0;
  private charsLeft: number;
  private dueMs: number | undefined;
  private waiting = false;

  constructor(private readonly options: LiveOutputOptions) {
    const { quietMs = 1000, intervalMs = 250, maxPieceChars = 4096, maxChars = 65_536 } = options;
    this.limits = { quietMs, intervalMs, maxPieceChars, maxChars };
    this.charsLeft = maxChars;
  }

  readonly push: OutputListener = (stream, chunk) => {
    if (this.charsLeft === 0 || this.ending.signal.aborted) return;
    const pending = this[stream];
    this.retainEnd(pending, pending.text + pending.decoder.write(chunk), this.limits.maxPieceChars);
    if (this.waiting) return;
    this.waiting = true;
    void this.publishWhenDue();
  };

  end(): void {
    this.ending.abort();
  }

  /** Stores the end of a text as pending output, without a leading half of a surrogate pair. */
  private retainEnd(pending: Pending, text: string, maxChars: number): void {
    const end = text.length <= maxChars ? text : text.slice(text.length - maxChars).replace(/^[\udc00-\udfff]/, '');
    this.omittedChars += text.length - end.length;
    pending.text = end;
  }

  private async publishWhenDue(): Promise<void> {
    const { clock } = this.options;
    const { signal } = this.ending;
    const nowMs = clock.monotonicMs();
    this.dueMs ??= nowMs + this.limits.quietMs;
    try {
      await clock.sleep(Math.max(0, this.dueMs - nowMs), signal);
    } catch (reason) {
      if (signal.aborted) return;
      throw reason;
    }
    this.waiting = false;
    this.dueMs = clock.monotonicMs() + this.limits.intervalMs;
    this.publishPiece();
  }

  private publishPiece(): void {
    const { out, err } = this;
    this.retainEnd(err, err.text, this.charsLeft);
    this.retainEnd(out, out.text, this.charsLeft - err.text.length);
    const chars = out.text.length + err.text.length;
    if (chars + this.omittedChars === 0) return;
    this.charsLeft = chars === this.charsLeft || chars === 0 ? 0 : this.charsLeft - chars;
    const texts = { stdout: out.text, stderr: err.text };
    this.options.publish({ ...texts, omitted_chars: this.omittedChars, truncated: this.charsLeft === 0 });
    this.omittedChars = 0;
    out.text = '';
    err.text = '';
  }
}

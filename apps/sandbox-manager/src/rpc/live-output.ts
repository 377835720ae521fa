import { StringDecoder } from 'node:string_decoder';
import type { OutputPiece } from '@caribou/contracts';
import type { Clock } from '@caribou/core';
import type { OutputListener } from '@caribou/sandbox';

export interface LiveOutputOptions {
  readonly publish: (piece: OutputPiece) => void;
  readonly clock: Clock;
  /** Nothing is told of a command that ends sooner than this after its first output. */
  readonly quietMs?: number;
  /** Between two pieces. */
  readonly intervalMs?: number;
  /** Most characters of each stream in one piece: the newest. */
  readonly maxPieceChars?: number;
  /** Most characters of one command that are told. */
  readonly maxChars?: number;
}

/** What one stream wrote and nobody was told of yet. */
interface Pending {
  text: string;
  readonly decoder: StringDecoder;
}

/**
 * Tells what a command writes while it runs.
 *
 *  O1  nothing in the first `quietMs` of its output, then at most one piece per `intervalMs`, none of a command that is silent
 *  O2  a piece holds the newest of what came since the one before, in whole characters, and counts what it leaves out
 *  O3  after `maxChars` one last piece says so
 *  O4  nothing after `end`
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
    this.keep(pending, pending.text + pending.decoder.write(chunk), this.limits.maxPieceChars);
    if (this.waiting) return;
    this.waiting = true;
    void this.tellWhenDue();
  };

  end(): void {
    this.ending.abort();
  }

  /** Keeps the end of a text; never the second half of a character. */
  private keep(pending: Pending, text: string, maxChars: number): void {
    const kept = text.length <= maxChars ? text : text.slice(text.length - maxChars).replace(/^[\udc00-\udfff]/, '');
    this.omittedChars += text.length - kept.length;
    pending.text = kept;
  }

  private async tellWhenDue(): Promise<void> {
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
    this.tell();
  }

  private tell(): void {
    const { out, err } = this;
    this.keep(err, err.text, this.charsLeft);
    this.keep(out, out.text, this.charsLeft - err.text.length);
    const told = out.text.length + err.text.length;
    if (told + this.omittedChars === 0) return;
    this.charsLeft = told === this.charsLeft || told === 0 ? 0 : this.charsLeft - told;
    const texts = { stdout: out.text, stderr: err.text };
    this.options.publish({ ...texts, omitted_chars: this.omittedChars, truncated: this.charsLeft === 0 });
    this.omittedChars = 0;
    out.text = '';
    err.text = '';
  }
}

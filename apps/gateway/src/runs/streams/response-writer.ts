import type { ServerResponse } from 'node:http';

/** Why a response ended before its time. */
export type GoneReason = 'client' | 'stalled' | 'shutdown';

/** Thrown into whatever feeds a response that is gone. */
export class ResponseGone extends Error {
  constructor(readonly reason: GoneReason) {
    super(`the response is gone: ${reason}`);
    this.name = 'ResponseGone';
  }
}

export interface WriterOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** Sent every `beatMs`, from the first byte to the last, so that silences of clients' watchdogs stay regular. */
  readonly beat: string;
  readonly beatMs: number;
  /** A write that is not taken in this long cuts the connection, in milliseconds. */
  readonly stallMs: number;
}

/**
 * A long response written piece by piece: one regular beat, back-pressure, and an end for readers that do not read.
 * `signal` aborts with ResponseGone when the client left, stalled, or the gateway stops.
 */
export class ResponseWriter {
  private readonly gone = new AbortController();
  private readonly beat: NodeJS.Timeout;
  private stall: NodeJS.Timeout | undefined;
  private finished = false;

  constructor(
    private readonly out: ServerResponse,
    private readonly options: WriterOptions,
  ) {
    out.on('close', () => this.lose('client'));
    out.on('error', () => this.lose('client'));
    out.writeHead(200, options.headers);
    out.flushHeaders();
    this.beat = setInterval(() => this.sendBeat(), options.beatMs);
    if (out.destroyed) this.lose('client');
  }

  get signal(): AbortSignal {
    return this.gone.signal;
  }

  /** Writes and tells whether the reader keeps up; if not, `drained` says when it does again. */
  write(text: string): boolean {
    if (this.finished || this.signal.aborted) return true;
    return this.out.write(text) || !this.out.writableNeedDrain;
  }

  /** Resolves when what was written is taken. @throws {ResponseGone} when that does not happen in time */
  async drained(): Promise<void> {
    if (!this.out.writableNeedDrain) return;
    this.stall = setTimeout(() => this.cut('stalled'), this.options.stallMs);
    try {
      await new Promise<void>((resolve, reject) => {
        const lost = (): void => reject(this.signal.reason);
        this.signal.addEventListener('abort', lost, { once: true });
        this.out.once('drain', () => {
          this.signal.removeEventListener('abort', lost);
          resolve();
        });
        if (this.signal.aborted) lost();
      });
    } finally {
      clearTimeout(this.stall);
    }
  }

  /** Ends the response; nothing is written after it. */
  end(text = ''): void {
    if (this.finished) return;
    this.finish();
    this.out.end(text);
  }

  /** Breaks the connection without an end: a client that can will reconnect. */
  cut(reason: GoneReason): void {
    this.lose(reason);
    this.out.destroy();
  }

  private sendBeat(): void {
    if (!this.out.writableNeedDrain) this.out.write(this.options.beat);
  }

  private lose(reason: GoneReason): void {
    if (this.finished) return;
    this.finish();
    this.gone.abort(new ResponseGone(reason));
  }

  private finish(): void {
    this.finished = true;
    clearInterval(this.beat);
    clearTimeout(this.stall);
  }
}

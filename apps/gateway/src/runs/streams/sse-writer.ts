import type { ServerResponse } from 'node:http';

/** Text is handed to the socket in pieces of about this many characters. */
const WRITE_CHARS = 64 * 1024;
/** Less buffered text than this goes out in one write with the end: a slow reader then lacks no more than a last frame. */
const END_CHARS = 8 * 1024;

/** Why a response ended early. */
export type GoneReason = 'client' | 'stalled' | 'shutdown';

/** Thrown into the code that writes a response once the response is gone. */
export class ResponseGone extends Error {
  constructor(readonly reason: GoneReason) {
    super(`the response is gone: ${reason}`);
    this.name = 'ResponseGone';
  }
}

/** A source of frames that can stop buffering while the reader is slow. */
export interface Pausable {
  pause(): void;
  resume(): void;
}

export interface WriterOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** Sent every `beatMs`, from the first byte to the last, so that a client's watchdog sees regular traffic. */
  readonly beat: string;
  readonly beatMs: number;
  /** A write that the reader does not take in this long cuts the connection, in milliseconds. */
  readonly stallMs: number;
}

/**
 * A long response: frames of server-sent events, written a few at a time, or a beat and one body at the end. A reader
 * that is slow holds the source of the frames back, and one that stops reading is cut off. `signal` aborts with
 * ResponseGone when the client left, stalled, or the gateway stops.
 */
export class SseWriter {
  private readonly gone = new AbortController();
  private readonly beat: NodeJS.Timeout;
  private stall: NodeJS.Timeout | undefined;
  private finished = false;
  private source: Pausable | undefined;
  private buffered: string[] = [];
  private bufferedChars = 0;

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

  /** Names the source of the frames, which is paused while the reader is slow. */
  pauseWhenSlow(source: Pausable): void {
    this.source = source;
  }

  /** Writes one frame; `data` is one line. @throws {ResponseGone} */
  async write(event: string, data: string, id: string | null): Promise<void> {
    const text = `event: ${event}\ndata: ${data}\n${id === null ? '' : `id: ${id}\n`}\n`;
    this.buffered.push(text);
    this.bufferedChars += text.length;
    if (this.bufferedChars >= WRITE_CHARS) await this.flush();
  }

  /** Hands the buffered frames to the socket, and waits for a reader that does not keep up. @throws {ResponseGone} */
  async flush(): Promise<void> {
    if (this.buffered.length === 0) return;
    this.signal.throwIfAborted();
    if (this.out.write(this.takeBuffered()) || !this.out.writableNeedDrain) return;
    this.source?.pause();
    try {
      await this.waitForDrain();
    } finally {
      this.source?.resume();
    }
  }

  /** Ends the response with what is buffered and `text`; nothing is written after it. @throws {ResponseGone} */
  async end(text = ''): Promise<void> {
    if (this.bufferedChars > END_CHARS) await this.flush();
    this.signal.throwIfAborted();
    this.finish();
    this.out.end(this.takeBuffered() + text);
  }

  /** Breaks the connection without an end, so that a client that can reconnects. */
  cut(reason: GoneReason): void {
    this.lose(reason);
    this.out.destroy();
  }

  private takeBuffered(): string {
    const text = this.buffered.join('');
    this.buffered = [];
    this.bufferedChars = 0;
    return text;
  }

  /** Resolves when the reader took what was written. @throws {ResponseGone} when it does not for `stallMs` */
  private async waitForDrain(): Promise<void> {
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

import type { ServerResponse } from 'node:http';

/** Buffered characters from which text is written to the socket. */
const WRITE_CHARS = 64 * 1024;
/** Less buffered text than this is written together with the end of the response. */
const END_CHARS = 8 * 1024;

/** Why a response ended early. */
export type GoneReason = 'client' | 'stalled' | 'shutdown';

/** Thrown in the code that writes a response when the response can no longer be written. */
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
  /** Text that is sent every `beatMs`, from the first byte to the last, so that clients see regular traffic. */
  readonly beat: string;
  readonly beatMs: number;
  /** The connection is closed when the reader does not accept a write within this time, in milliseconds. */
  readonly stallMs: number;
}

/**
 * Writes a long response: frames of server-sent events, or only a beat until one body at the end. A slow reader pauses
 * the source of the frames; the connection of a reader that stops reading is closed. `signal` aborts with ResponseGone
 * when the client disconnected or stalled, or the gateway stops.
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

  /** Sets the source of the frames, which is paused while the reader is slow. */
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

  /** Writes the buffered frames to the socket, and waits while the reader is slow. @throws {ResponseGone} */
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

  /** Writes the buffered frames and `text`, and ends the response. @throws {ResponseGone} */
  async end(text = ''): Promise<void> {
    if (this.bufferedChars > END_CHARS) await this.flush();
    this.signal.throwIfAborted();
    this.finish();
    this.out.end(this.takeBuffered() + text);
  }

  /** Closes the connection without ending the response, so that clients which can reconnect do so. */
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

  /**
   * Resolves when the reader has accepted the written data.
   *
   * @throws {ResponseGone} when it does not within `stallMs`
   */
  private async waitForDrain(): Promise<void> {
    this.stall = setTimeout(() => this.cut('stalled'), this.options.stallMs);
    try {
      await new Promise<void>((resolve, reject) => {
        const onAbort = (): void => reject(this.signal.reason);
        this.signal.addEventListener('abort', onAbort, { once: true });
        this.out.once('drain', () => {
          this.signal.removeEventListener('abort', onAbort);
          resolve();
        });
        if (this.signal.aborted) onAbort();
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

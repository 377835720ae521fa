import type { ServerResponse } from 'node:http';
import type { SlowReaders } from './slow-readers.js';

/** Buffered characters from which text is written to the socket, and the size of the pieces of a longer text. */
const WRITE_CHARS = 64 * 1024;
/** Less buffered text than this is written together with the end of the response. */
const END_CHARS = 8 * 1024;

/** How long the headers, in which clients read the run's id, wait for the first frame, to be sent with it. */
const HEADERS_MS = 250;

/** Why a response ended early. */
export type GoneReason = 'client' | 'stalled' | 'slow' | 'shutdown';

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
  /** Bounds the memory that all connections hold for slow readers. */
  readonly slowReaders: Pick<SlowReaders, 'add' | 'remove'>;
}

/**
 * Writes a long response: frames of server-sent events, or only a beat until one body at the end. A slow reader pauses
 * the source of the frames; the connection of a reader that stops reading is closed. A long text is written in pieces, so
 * that a slow reader holds one piece in its socket, and the text itself is shared by all connections that write it.
 * `signal` aborts with ResponseGone when the client disconnected, stalled or is too slow, or the gateway stops.
 */
export class SseWriter {
  private readonly gone = new AbortController();
  private readonly headers: NodeJS.Timeout;
  private readonly beat: NodeJS.Timeout;
  private stall: NodeJS.Timeout | undefined;
  private finished = false;
  private source: Pausable | undefined;
  private buffered: string[] = [];
  private bufferedChars = 0;
  /** Whether a part of a text was written whose rest is still to come. */
  private withinText = false;
  private paused = false;

  constructor(
    private readonly out: ServerResponse,
    private readonly options: WriterOptions,
  ) {
    out.on('close', () => this.lose('client'));
    out.on('error', () => this.lose('client'));
    out.writeHead(200, options.headers);
    this.headers = setTimeout(() => out.flushHeaders(), HEADERS_MS);
    this.beat = setInterval(() => this.sendBeat(), options.beatMs);
    if (out.destroyed) this.lose('client');
  }

  get signal(): AbortSignal {
    return this.gone.signal;
  }

  /** Bytes that wait in this connection and its buffer. */
  get heldBytes(): number {
    return this.out.writableLength + this.bufferedChars;
  }

  /** Sets the source of the frames, which is paused while the reader is slow. */
  pauseWhenSlow(source: Pausable): void {
    this.source = source;
  }

  /** Sends the headers now, for a stream that may have no frame for long. */
  begin(): void {
    clearTimeout(this.headers);
    this.out.flushHeaders();
  }

  /**
   * Writes one frame; `data` is one line, or the parts of one. Returns a promise only when there is something to wait for, since
   * most frames are just buffered. @throws {ResponseGone}
   */
  write(event: string, data: string | readonly string[], id: string | null): Promise<void> | undefined {
    const before = `event: ${event}\ndata: `;
    const after = id === null ? '\n\n' : `\nid: ${id}\n\n`;
    if (typeof data !== 'string') return this.writeParts(before, data, after);
    if (data.length >= WRITE_CHARS) return this.writeParts(before, [data], after);
    this.buffer(before + data + after);
    return this.bufferedChars >= WRITE_CHARS ? this.flush() : undefined;
  }

  /** Writes the buffered frames to the socket, and waits while the reader is slow. @throws {ResponseGone} */
  async flush(): Promise<void> {
    if (this.buffered.length === 0) return;
    try {
      await this.send(this.takeBuffered());
    } finally {
      this.resumeSource();
    }
  }

  /** Writes the buffered frames and `text`, and ends the response. @throws {ResponseGone} */
  async end(text = ''): Promise<void> {
    if (this.bufferedChars > END_CHARS) await this.flush();
    if (text !== '') await this.append(text);
    this.signal.throwIfAborted();
    this.finish();
    this.out.end(this.takeBuffered());
  }

  /** Closes the connection without ending the response, so that clients which can reconnect do so. */
  cut(reason: GoneReason): void {
    this.lose(reason);
    this.out.destroy();
  }

  private async writeParts(before: string, parts: readonly string[], after: string): Promise<void> {
    this.buffer(before);
    for (const part of parts) await this.append(part);
    this.buffer(after);
    this.withinText = false;
    if (this.bufferedChars >= WRITE_CHARS) await this.flush();
  }

  private buffer(text: string): void {
    this.buffered.push(text);
    this.bufferedChars += text.length;
  }

  /** Buffers a short text. Writes a long one in pieces, each after the reader has accepted the one before. */
  private async append(text: string): Promise<void> {
    if (text.length < WRITE_CHARS) {
      this.buffer(text);
      return;
    }
    this.withinText = true;
    await this.flush();
    try {
      for (let start = 0; start < text.length; ) {
        const end = endOfPiece(text, start + WRITE_CHARS);
        await this.send(text.slice(start, end), text);
        start = end;
      }
    } finally {
      this.resumeSource();
    }
  }

  /** @param whole the text that `piece` is a part of, when it is in memory until its last piece is written */
  private async send(piece: string, whole?: string): Promise<void> {
    this.signal.throwIfAborted();
    clearTimeout(this.headers);
    if (this.out.write(piece) || !this.out.writableNeedDrain) return;
    this.pauseSource();
    this.options.slowReaders.add(this, this.heldBytes, whole);
    try {
      await this.waitForDrain();
    } finally {
      this.options.slowReaders.remove(this);
    }
  }

  private pauseSource(): void {
    if (!this.paused) this.source?.pause();
    this.paused = true;
  }

  private resumeSource(): void {
    if (this.paused) this.source?.resume();
    this.paused = false;
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

  /** After what is buffered, which may be the end of a frame whose beginning was sent. */
  private sendBeat(): void {
    if (!this.withinText && !this.out.writableNeedDrain) this.out.write(this.takeBuffered() + this.options.beat);
  }

  private lose(reason: GoneReason): void {
    if (this.finished) return;
    this.finish();
    this.gone.abort(new ResponseGone(reason));
  }

  private finish(): void {
    this.finished = true;
    clearTimeout(this.headers);
    clearInterval(this.beat);
    clearTimeout(this.stall);
  }
}

/** The end of a piece at this position or one before it, so that no pair of surrogates is divided. */
function endOfPiece(text: string, end: number): number {
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last < 0xdc00 && end < text.length ? end - 1 : Math.min(end, text.length);
}

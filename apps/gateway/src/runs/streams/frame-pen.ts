import type { ResponseWriter } from './response-writer.js';

/** Text is handed to the socket in pieces of about this many characters. */
const WRITE_CHARS = 64 * 1024;
/** Less than this goes out in one write with the end: what is left for a slow reader then is no more than a last frame. */
const END_CHARS = 8 * 1024;

/** What is held back while the reader does not keep up. */
export interface Holdable {
  pause(): void;
  resume(): void;
}

/** Writes frames in the server-sent events format, a few at a time; the source rests while the reader is slow. */
export class FramePen {
  private pending: string[] = [];
  private pendingChars = 0;

  constructor(
    private readonly writer: ResponseWriter,
    private readonly source: Holdable,
  ) {}

  /** One frame; `data` is one line. @throws the writer's reason when the response is gone */
  async put(event: string, data: string, id: string | null): Promise<void> {
    const text = `event: ${event}\ndata: ${data}\n${id === null ? '' : `id: ${id}\n`}\n`;
    this.pending.push(text);
    this.pendingChars += text.length;
    if (this.pendingChars >= WRITE_CHARS) await this.flush();
  }

  /** Hands what is pending to the socket, and waits for a reader that does not keep up. @throws as `put` */
  async flush(): Promise<void> {
    if (this.pending.length === 0) return;
    const text = this.pending.join('');
    this.pending = [];
    this.pendingChars = 0;
    this.writer.signal.throwIfAborted();
    if (this.writer.write(text)) return;
    this.source.pause();
    try {
      await this.writer.drained();
    } finally {
      this.source.resume();
    }
  }

  /** The clean end of the response. */
  async end(): Promise<void> {
    if (this.pendingChars > END_CHARS) await this.flush();
    this.writer.signal.throwIfAborted();
    this.writer.end(this.pending.join(''));
  }
}

import type { WebSocket } from 'ws';
import type { SlowReader, SlowReaders } from '../../runs/streams/slow-readers.js';
import { type GoneReason, type Pausable, ResponseGone } from '../../runs/streams/sse-writer.js';

/** Bytes that wait in a socket from which on nothing more is written until its reader has accepted some. */
const HIGH_WATER_BYTES = 64 * 1024;

export interface SocketWriterOptions {
  /** The socket is closed when its reader accepts nothing for this many milliseconds. */
  readonly stallMs: number;
  /** Bounds the memory that all connections hold for slow readers. */
  readonly slowReaders: Pick<SlowReaders, 'add' | 'remove'>;
}

/**
 * Writes to a WebSocket. While its reader is slow, writers wait and the sources of events are paused; a reader that accepts
 * nothing is cut off. `signal` aborts with ResponseGone when the connection is gone.
 */
export class SocketWriter implements SlowReader {
  private readonly gone = new AbortController();
  private readonly sources = new Set<Pausable>();
  private drained: Promise<void> | undefined;

  constructor(
    private readonly socket: WebSocket,
    private readonly options: SocketWriterOptions,
  ) {
    socket.on('close', () => this.lose('client'));
    socket.on('error', () => this.cut('client'));
    if (socket.readyState !== socket.OPEN) this.lose('client');
  }

  get signal(): AbortSignal {
    return this.gone.signal;
  }

  /** Adds a source that is paused while the reader is slow; the returned function removes it. */
  pauseWhenSlow(source: Pausable): () => void {
    this.sources.add(source);
    return () => this.sources.delete(source);
  }

  /** Writes one message, once the reader has accepted enough of those before. @throws {ResponseGone} */
  async write(text: string): Promise<void> {
    while (this.drained !== undefined) await this.drained;
    this.signal.throwIfAborted();
    const accepted = new Promise<void>((resolve) => this.socket.send(text, () => resolve()));
    if (this.socket.bufferedAmount <= HIGH_WATER_BYTES) return;
    this.drained = this.waitFor(accepted);
    await this.drained;
    this.signal.throwIfAborted();
  }

  /** Closes the connection at once; its client may connect to another gateway. */
  cut(reason: GoneReason): void {
    this.lose(reason);
    this.socket.terminate();
  }

  private async waitFor(accepted: Promise<void>): Promise<void> {
    for (const source of this.sources) source.pause();
    this.options.slowReaders.add(this, this.socket.bufferedAmount);
    const stall = setTimeout(() => this.cut('stalled'), this.options.stallMs);
    const gone = new AbortController();
    try {
      await Promise.race([accepted, once(this.signal, gone.signal)]);
    } finally {
      gone.abort();
      clearTimeout(stall);
      this.options.slowReaders.remove(this);
      this.drained = undefined;
      for (const source of this.sources) source.resume();
    }
  }

  private lose(reason: GoneReason): void {
    if (!this.signal.aborted) this.gone.abort(new ResponseGone(reason));
  }
}

/** Resolves when `signal` aborts, or no longer matters. */
function once(signal: AbortSignal, done: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true, signal: done });
  });
}

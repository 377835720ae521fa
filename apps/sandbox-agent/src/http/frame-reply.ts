import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AppError, ALIVE_MS, encodeFrame, encodeJsonFrame, FRAMES_TYPE, toWireError } from '@caribou/contracts';

/** Output of a running command that waits for its reader; more is left out, as the result has it too. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** A reader takes something within this time, or its connection is closed. */
const STALLED_MS = 30_000;
/** Bytes of output in one frame. */
const PIECE_BYTES = 64 * 1024;

/** A reader that is gone, or takes nothing. */
export class ReaderGoneError extends Error {}

/** A reply of frames, which shows every few seconds that it is under way. */
export class FrameReply {
  private readonly heartbeat: NodeJS.Timeout;
  private isOver = false;

  /** Begins it with status 200; its head is sent with the first frame. */
  constructor(private readonly response: ServerResponse) {
    response.writeHead(200, { 'content-type': FRAMES_TYPE });
    this.heartbeat = setInterval(() => this.offer(encodeFrame('alive')), ALIVE_MS);
    response.once('close', () => clearInterval(this.heartbeat));
  }

  /** Sends output, in part or not at all when the reader is too slow. */
  readonly output = (stream: 'out' | 'err', chunk: Buffer): void => {
    const type = stream === 'out' ? 'stdout' : 'stderr';
    for (let at = 0; at < chunk.byteLength; at += PIECE_BYTES)
      this.offer(encodeFrame(type, chunk.subarray(at, at + PIECE_BYTES)));
  };

  /** Sends a frame, and waits for the reader when much is on its way. @throws {ReaderGoneError} */
  async send(frame: Uint8Array): Promise<void> {
    const { response } = this;
    if (response.destroyed) throw new ReaderGoneError('the connection is closed');
    if (response.write(frame)) return;
    await this.drained();
  }

  /** Ends it with a result, as far as somebody reads it. */
  finish(value: unknown): Promise<void> {
    return this.end(encodeJsonFrame('result', value));
  }

  /** Ends it with a failure, as far as somebody reads it. */
  fail(error: AppError): Promise<void> {
    return this.end(encodeJsonFrame('error', toWireError(error)));
  }

  private async end(frame: Uint8Array): Promise<void> {
    this.isOver = true;
    clearInterval(this.heartbeat);
    try {
      await this.send(frame);
      this.response.end();
    } catch (error) {
      if (!(error instanceof ReaderGoneError)) throw error;
    }
  }

  private offer(frame: Uint8Array): void {
    const { response } = this;
    if (this.isOver || response.destroyed || response.writableLength > MAX_WAITING_BYTES) return;
    response.write(frame);
  }

  /** Waits while the reader takes something now and then. */
  private async drained(): Promise<void> {
    const { response } = this;
    const stop = new AbortController();
    let left = response.writableLength;
    const stalled = setInterval(() => {
      if (response.writableLength >= left) response.destroy();
      left = response.writableLength;
    }, STALLED_MS);
    const onClose = (): void => stop.abort();
    response.once('close', onClose);
    try {
      await once(response, 'drain', { signal: stop.signal });
    } catch {
      throw new ReaderGoneError('the connection was closed while it was written to');
    } finally {
      clearInterval(stalled);
      response.off('close', onClose);
    }
  }
}

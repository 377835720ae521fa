import { SkillRejectedError } from './skill-rejected.js';

/** Counts the bytes of several streams together while they are read. */
export class ByteCounter {
  bytes = 0;

  constructor(
    private readonly maxBytes: number,
    private readonly signal: AbortSignal,
  ) {}

  /** Passes the chunks on. @throws {SkillRejectedError} when the total exceeds the limit; the signal's reason */
  async *count(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      this.signal.throwIfAborted();
      this.bytes += chunk.byteLength;
      if (this.bytes > this.maxBytes)
        throw new SkillRejectedError(`the archive unpacks to more than ${this.maxBytes} bytes`);
      yield chunk;
    }
  }
}

import type { IncomingMessage } from 'node:http';
import { StoreFailure } from '../common/store-failure.js';
import { connectionFailure } from './connection-failure.js';

export interface ReadLimits {
  readonly silenceTimeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** The pieces of a body. The connection is destroyed when the reader stops early. @throws {StoreFailure} when it is cut or silent */
export async function* readPieces(message: IncomingMessage, limits: ReadLimits): AsyncGenerator<Uint8Array, void> {
  const pieces = message[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, undefined>;
  try {
    for (;;) {
      const { done, value } = await nextPiece(message, pieces, limits);
      if (done === true) return;
      yield value;
    }
  } finally {
    message.destroy();
  }
}

async function nextPiece(
  message: IncomingMessage,
  pieces: AsyncIterator<Uint8Array, undefined>,
  { silenceTimeoutMs, signal }: ReadLimits,
): Promise<IteratorResult<Uint8Array, undefined>> {
  signal?.throwIfAborted();
  let silence: StoreFailure | undefined;
  const onAbort = (): void => {
    message.destroy();
  };
  const timer = setTimeout(() => {
    silence = new StoreFailure('timeout', `the store was silent for ${silenceTimeoutMs} ms`, { isRepeated: true });
    message.destroy(silence);
  }, silenceTimeoutMs);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await pieces.next();
  } catch (error) {
    signal?.throwIfAborted();
    throw silence ?? connectionFailure(error);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

/** Reads a body of at most `maxBytes` as text. @throws {StoreFailure} when it is longer, cut or silent */
export async function readText(message: IncomingMessage, limits: ReadLimits, maxBytes: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of readPieces(message, limits)) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) throw new StoreFailure('protocol', `an answer is larger than ${maxBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

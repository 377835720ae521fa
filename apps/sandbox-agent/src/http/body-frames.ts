import type { IncomingMessage } from 'node:http';
import { type Frame, InvalidRequestError, jsonOf, readFrames } from '@caribou/contracts';
import type { z } from 'zod';

/** A sender continues within this time, in milliseconds. */
const SILENT_MS = 30_000;

/** The frames of a request, whose connection is closed when its sender is silent for too long. */
export function framesOf(request: IncomingMessage): AsyncGenerator<Frame, void, undefined> {
  request.setTimeout(SILENT_MS, () => undefined);
  return readFrames(chunksOf(request));
}

async function* chunksOf(request: IncomingMessage): AsyncGenerator<Uint8Array, void, undefined> {
  const watch = setInterval(() => {
    if (silentMs() > SILENT_MS) request.destroy(new InvalidRequestError('the request stopped before its end'));
  }, 1_000);
  let lastMs = performance.now();
  const silentMs = (): number => performance.now() - lastMs;
  try {
    for await (const chunk of request) {
      lastMs = performance.now();
      yield chunk as Uint8Array;
      lastMs = performance.now();
    }
  } finally {
    clearInterval(watch);
  }
}

/** The first frame, which says what is asked. @throws {InvalidRequestError} naming the first field that is not as it has to be */
export async function readHead<T>(frames: AsyncIterator<Frame, unknown>, schema: z.ZodType<T>): Promise<T> {
  const first = await frames.next();
  if (first.done === true || first.value.type !== 'head')
    throw new InvalidRequestError('the request begins with the frame "head"');
  const parsed = schema.safeParse(jsonOf(first.value));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new InvalidRequestError(`head.${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}`);
}

/** @throws {InvalidRequestError} when something follows */
export async function requireEnd(frames: AsyncIterator<Frame, unknown>): Promise<void> {
  const next = await frames.next();
  if (next.done !== true) throw new InvalidRequestError('nothing follows the last change of files');
}

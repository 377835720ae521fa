import type { IncomingMessage } from 'node:http';
import { ALIVE_MS, type Frame, FrameError, fromWireError, jsonOf, readFrames, WireError } from '@caribou/contracts';
import { type CopyMirror, stepsOf } from '@caribou/core';

/** An agent that sends nothing for so long has ended, or cannot be reached. */
const SILENT_MS = 4 * ALIVE_MS;

export interface ReplyHandlers {
  readonly onStarted: () => void;
  readonly onOutput: (stream: 'out' | 'err', chunk: Buffer) => void;
  readonly mirror: CopyMirror;
}

/**
 * Reads a reply of frames to its end, and applies the changes of files in it.
 *
 * @returns the JSON of the frame `result`
 * @throws {AppError} of the frame `error`
 * @throws an error of the connection, or of the copy
 */
export async function readReply(reply: IncomingMessage, handlers: ReplyHandlers): Promise<unknown> {
  const frames = readFrames(withoutSilence(reply));
  try {
    for (;;) {
      const next = await frames.next();
      if (next.done === true) throw new FrameError('the reply ends without a result');
      const result = await take(next.value, frames, handlers);
      if (result !== undefined) return result;
    }
  } finally {
    await frames.return();
  }
}

async function take(frame: Frame, frames: AsyncIterator<Frame>, handlers: ReplyHandlers): Promise<unknown> {
  switch (frame.type) {
    case 'alive':
      return undefined;
    case 'started':
      handlers.onStarted();
      return undefined;
    case 'stdout':
    case 'stderr':
      handlers.onOutput(frame.type === 'stdout' ? 'out' : 'err', Buffer.from(frame.payload));
      return undefined;
    case 'result':
      return jsonOf(frame);
    case 'error':
      throw fromWireError(WireError.parse(jsonOf(frame)));
    default:
      await handlers.mirror.receive(stepsOf(withFirst(frame, frames)));
      return undefined;
  }
}

/** The frames from one on that was taken already; the others remain where they are. */
async function* withFirst(first: Frame, frames: AsyncIterator<Frame>): AsyncGenerator<Frame, void, undefined> {
  yield first;
  for (let next = await frames.next(); next.done !== true; next = await frames.next()) yield next.value;
}

async function* withoutSilence(reply: IncomingMessage): AsyncGenerator<Uint8Array, void, undefined> {
  let lastMs = performance.now();
  let isReading = true;
  const watch = setInterval(() => {
    if (isReading && performance.now() - lastMs > SILENT_MS) reply.destroy(new Error('the agent is silent'));
  }, 1_000);
  try {
    for await (const chunk of reply) {
      isReading = false;
      yield chunk as Uint8Array;
      isReading = true;
      lastMs = performance.now();
    }
  } finally {
    clearInterval(watch);
  }
}

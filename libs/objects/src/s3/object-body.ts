import type { ObjectContent, ObjectRange } from '@caribou/core';
import { StoreFailure } from '../store-failure.js';
import type { OpenPart } from './open-part.js';
import { readPieces, type ReadLimits } from './read-answer.js';

export interface BodyPorts extends ReadLimits {
  readonly maxAttempts: number;
  /** Asks for a part of the same object. */
  readonly reopen: (range: ObjectRange) => Promise<OpenPart>;
}

/** A body that nobody reads for this time gives its connection back, and is asked for again when somebody does. */
const UNREAD_MS = 30_000;
/** Connections that one body may need because others broke after some bytes. */
const MAX_REOPENED = 100;

/** The content of an answer. What is missing when a connection breaks is asked for by its range. */
export function contentOf(first: OpenPart, ports: BodyPorts): ObjectContent {
  const unread = setTimeout(() => first.message.destroy(), UNREAD_MS).unref();
  const body = {
    [Symbol.asyncIterator]: () => {
      clearTimeout(unread);
      return readOn(first, ports);
    },
  };
  return { size: first.size, body };
}

async function* readOn(first: OpenPart, ports: BodyPorts): AsyncGenerator<Uint8Array, void> {
  let part = first;
  let position = first.start;
  /** Attempts that brought nothing, in a row. */
  let fruitless = 0;
  for (let reopened = 0; ; reopened++) {
    const before = position;
    try {
      for await (const piece of readPieces(part.message, ports)) {
        position += piece.byteLength;
        yield piece;
      }
      if (position === first.stop) return;
      throw new StoreFailure('cut', `an object ended at byte ${position} of ${first.stop}`, { isRepeated: true });
    } catch (error) {
      fruitless = position > before ? 0 : fruitless + 1;
      const isOver = fruitless >= ports.maxAttempts || reopened >= MAX_REOPENED || position > first.stop;
      if (!(error instanceof StoreFailure) || !error.isRepeated || isOver) throw error;
    }
    if (position === first.stop) return;
    part = await ports.reopen({ start: position, end: first.stop - 1 });
    if (part.size === first.size && part.start === position) continue;
    part.message.destroy();
    throw new StoreFailure('altered', `an object of ${first.size} bytes became one of ${part.size} while it was read`);
  }
}

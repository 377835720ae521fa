import type { ObjectContent, ObjectRange } from '@caribou/core';
import { StoreFailure } from '../common/store-failure.js';
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
const MAX_OPENED = 100;

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
  /** Connections that brought nothing, in a row. */
  let fruitless = 0;
  for (let opened = 1; ; opened++) {
    const before = position;
    try {
      for await (const piece of readPieces(part.message, ports)) {
        position += piece.byteLength;
        yield piece;
      }
      if (position !== first.stop) throw endedEarly(position, first);
      return;
    } catch (error) {
      fruitless = position > before ? 0 : fruitless + 1;
      const isOver = fruitless >= ports.maxAttempts || opened > MAX_OPENED;
      if (!(error instanceof StoreFailure) || !error.isRepeated || isOver) throw error;
    }
    if (position === first.stop) return;
    part = await openRest(position, first, ports);
  }
}

async function openRest(start: number, first: OpenPart, { reopen }: BodyPorts): Promise<OpenPart> {
  const rest = await reopen({ start, end: first.stop - 1 });
  if (rest.size === first.size) return rest;
  rest.message.destroy();
  throw new StoreFailure('altered', `an object of ${first.size} bytes became one of ${rest.size} while it was read`);
}

const endedEarly = (position: number, { stop }: OpenPart): StoreFailure =>
  new StoreFailure('cut', `an object ended at byte ${position} of ${stop}`, { isRepeated: position < stop });

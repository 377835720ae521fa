import type { ServerResponse } from 'node:http';
import { setImmediate as nextTick } from 'node:timers/promises';
import { waitForDrain } from '../../demo-model/answer.js';
import { type Random, wholeNumber } from './random.js';

const MAX_EVENTS_A_WRITE = 4;
const MAX_BYTES_A_WRITE = 24;

/** Writes the events of a stream to the socket; `flush` is called before a wait, so that the client has all that came before. */
export interface EventWriter {
  write(events: readonly string[]): Promise<void>;
  flush(): Promise<void>;
}

/** Each event in one write. */
export function wholeEventWriter(res: ServerResponse, signal: AbortSignal): EventWriter {
  return {
    async write(events) {
      for (const event of events) await send(res, Buffer.from(event), signal);
    },
    flush: async () => undefined,
  };
}

/**
 * Writes at awkward borders: several events in one write, many small writes, and cuts in the middle of lines, of line breaks
 * and of characters. The same random numbers give the same cuts.
 */
export function cutEventWriter(res: ServerResponse, signal: AbortSignal, random: Random): EventWriter {
  let pending: Buffer[] = [];
  let together = wholeNumber(random, 1, MAX_EVENTS_A_WRITE);
  const flush = async (): Promise<void> => {
    const bytes = Buffer.concat(pending);
    pending = [];
    together = wholeNumber(random, 1, MAX_EVENTS_A_WRITE);
    for (const piece of cutBytes(bytes, random)) {
      if (signal.aborted) return;
      await send(res, piece, signal);
      // Lets the kernel send what was written, so that the client reads it on its own.
      await nextTick();
    }
  };
  return {
    async write(events) {
      for (const event of events) {
        pending.push(Buffer.from(event));
        if (pending.length >= together) await flush();
      }
    },
    flush,
  };
}

/** Cuts bytes at random; one time in three not at all. A character of several bytes is always cut in its middle. */
export function cutBytes(bytes: Buffer, random: Random): Buffer[] {
  if (bytes.length === 0) return [];
  if (random() < 1 / 3) return [bytes];
  const pieces: Buffer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const end = at + wholeNumber(random, 1, MAX_BYTES_A_WRITE);
    const inside = bytes.subarray(at + 1, end).findIndex(isContinuation);
    const cut = inside === -1 ? end : at + 1 + inside;
    pieces.push(bytes.subarray(at, cut));
    at = cut;
  }
  return pieces;
}

/** Whether a byte is one of a UTF-8 character after its first. */
const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80;

async function send(res: ServerResponse, bytes: Buffer, signal: AbortSignal): Promise<void> {
  if (!res.write(bytes)) await waitForDrain(res, signal);
}

import type { IncomingMessage } from 'node:http';
import { NotFoundError } from '@caribou/contracts';
import type { ObjectRange } from '@caribou/core';
import { behindObject } from '../common/object-key.js';
import { StoreFailure } from '../common/store-failure.js';
import type { Refusal } from './answer-failure.js';
import type { S3Client } from './s3-client.js';

/** An answer with an object or a part of it. */
export interface OpenPart {
  readonly message: IncomingMessage;
  /** Bytes of the whole object. */
  readonly size: number;
  readonly start: number;
  /** The byte behind the part. */
  readonly stop: number;
}

export interface PartRequest {
  readonly key: string;
  readonly fullKey: string;
  /** Undefined: all of it. */
  readonly range: ObjectRange | undefined;
  readonly signal: AbortSignal | undefined;
  /** The size of the object, which some stores do not say in an answer to a range behind it. */
  readonly sizeOf: () => Promise<number | undefined>;
}

type Found = { readonly part: OpenPart } | { readonly refusal: Refusal };

/**
 * Asks for an object, or a part of it.
 *
 * @throws {NotFoundError} when there is none
 * @throws {InvalidRequestError} when the range begins behind the object
 */
export async function openPart(client: S3Client, request: PartRequest): Promise<OpenPart> {
  const { key, fullKey, range, signal } = request;
  const headers = range === undefined ? {} : { range: `bytes=${range.start}-${range.end}` };
  const found = await client.call<Found>(
    { method: 'GET', fullKey, headers },
    {
      signal,
      read: (message) => ({ part: partOf(message, range) }),
      accept: (refusal) => (refusal.code === 'NoSuchKey' || refusal.status === 416 ? { refusal } : undefined),
    },
  );
  if ('part' in found) return found.part;
  if (found.refusal.code === 'NoSuchKey') throw missing(key);
  const size = sizeBehind(found.refusal.headers['content-range']) ?? (await request.sizeOf());
  if (size === undefined) throw missing(key);
  if (range === undefined || range.start < size) throw new StoreFailure('protocol', 'it refuses a part of an object');
  throw behindObject(range, size);
}

const missing = (key: string): NotFoundError => new NotFoundError(`object ${key} does not exist`);

/** Reads where an answer's part is. @throws {StoreFailure} when it does not say it, or is another part */
function partOf(message: IncomingMessage, range: ObjectRange | undefined): OpenPart {
  const { 'content-length': length = '', 'content-range': said = '' } = message.headers;
  if (range === undefined) {
    if (!/^\d+$/.test(length)) throw refuse(message, 'an object came without its length');
    return { message, size: Number(length), start: 0, stop: Number(length) };
  }
  const [, start, end, size] = (/^bytes (\d+)-(\d+)\/(\d+)$/.exec(said) ?? []).map(Number);
  if (message.statusCode !== 206 || start === undefined || end === undefined || size === undefined)
    throw refuse(message, 'it does not answer a request for a part of an object with that part');
  if (start !== range.start || end !== Math.min(range.end, size - 1))
    throw refuse(message, `it answered a request for bytes ${range.start} to ${range.end} with ${start} to ${end}`);
  return { message, size, start, stop: end + 1 };
}

function refuse(message: IncomingMessage, text: string): StoreFailure {
  message.destroy();
  return new StoreFailure('protocol', text);
}

/** The size in an answer to a range behind an object; undefined when it does not say it. */
function sizeBehind(contentRange: string | undefined): number | undefined {
  const found = /^bytes \*\/(\d+)$/.exec(contentRange ?? '')?.[1];
  return found === undefined ? undefined : Number(found);
}

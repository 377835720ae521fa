import { promisify } from 'node:util';
import { deflateRaw, deflateRawSync, inflateRaw, inflateRawSync, type ZlibOptions } from 'node:zlib';
import { BugError } from '@caribou/contracts';
import { LRUCache } from 'lru-cache';
import { messagePhrases } from '../phrases/message-phrases.js';

/**
 * The JSON of a message as the log of a thread holds it: as text, or shorter (a buffer):
 *
 *   byte 0       0xff: raw deflate with the dictionary below; 0xfc: abbreviated (message-phrases.ts)
 *   bytes 1–4    bytes of the text, big endian; `includes/stored-text.lua` reads them, as limits count the text
 *   bytes 5–     the shorter text
 *
 * Each text has a form of its own, and both are always readable.
 */
export type StoredText = string | Buffer;

const COMPRESSED = 0xff;
const ABBREVIATED = 0xfc;
const HEADER_BYTES = 5;
/** No text in UTF-8 contains this byte or a greater one, so binary values begin with one. */
const FIRST_BINARY = 0xf8;

/** A shorter text is stored as it is: little would be saved, and the texts of plain turns are short. */
const MIN_BYTES = 400;
/** A text up to this size of which abbreviating leaves at most this share is not compressed, which would take ten times as long. */
const MAX_ABBREVIATED_BYTES = 1_024;
const MAX_ABBREVIATED_SHARE = 0.5;
/** Texts that are compressed within one turn of the event loop, in bytes: half a millisecond of work. */
const DEFLATED_PER_TURN = 16 * 1024;
/** Size of the pieces of a compressed text. */
const MAX_CHUNK_BYTES = 16 * 1024;
/** Texts that are expanded within one turn of the event loop, in bytes. */
const INFLATED_PER_TURN = 128 * 1024;

/**
 * What the JSON of most messages contains, the most frequent last; compressed texts refer to it. They can be read with exactly
 * this dictionary only: another one needs another first byte.
 */
const dictionary = Buffer.from(
  [
    '{"type":"human","id":"","content":[{"type":"text","text":""}],"additional_kwargs":{},"response_metadata":{}}',
    '"additional_kwargs":{"reasoning_content":"},"status":"error","description":"","command":"","pattern":"","url":"https://',
    '"old_str":"","new_str":"","start_line":1,"end_line":"/mnt/user-data/outputs/","/mnt/user-data/uploads/',
    '"finish_reason":"stop"},"tool_calls":[],"invalid_tool_calls":[],"usage_metadata":{"input_tokens":',
    '{"type":"tool","id":"tool:call_","content":"","name":"bash","tool_call_id":"call_',
    '","name":"read_file","tool_call_id":"call_","status":"success","additional_kwargs":{},"response_metadata":{}}',
    '{"type":"ai","id":"","content":"","additional_kwargs":{},"response_metadata":{"model_name":"","finish_reason":"tool_calls"},',
    '"tool_calls":[{"id":"call_","name":"write_file","args":{"path":"/mnt/user-data/workspace/"},"type":"tool_call"}],',
    '"invalid_tool_calls":[],"usage_metadata":{"input_tokens":,"output_tokens":,"total_tokens":}}',
  ].join(''),
);

const deflateInPool = promisify<Buffer, ZlibOptions, Buffer>(deflateRaw);
const inflateInPool = promisify<Buffer, ZlibOptions, Buffer>(inflateRaw);

/** Texts up to this size, in bytes, are compressed with a small window: zlib clears 256 KiB for the usual one, a third of the time. */
const SHORT_BYTES = 2 * 1024;
const windowFor = (bytes: number): ZlibOptions => (bytes > SHORT_BYTES ? {} : { windowBits: 12, memLevel: 4 });

/** The smaller form of each text of at least `minBytes`. More than the event loop has time for is compressed by the thread pool. */
export async function compressTexts(texts: readonly string[], minBytes = MIN_BYTES): Promise<StoredText[]> {
  const stored: StoredText[] = [];
  let bytesLeft = DEFLATED_PER_TURN;
  for (const text of texts) {
    if (text.length < minBytes) {
      stored.push(text);
      continue;
    }
    const short = abbreviated(text);
    if (short !== undefined) {
      stored.push(short);
      continue;
    }
    const plain = Buffer.from(text);
    bytesLeft -= plain.length;
    // One piece of memory that is as large as the text, and not one of 16 KiB, takes the result.
    const options = { dictionary, chunkSize: Math.min(plain.length, MAX_CHUNK_BYTES), ...windowFor(plain.length) };
    const packed = bytesLeft >= 0 ? deflateRawSync(plain, options) : await deflateInPool(plain, options);
    if (bytesLeft < 0) bytesLeft = DEFLATED_PER_TURN;
    stored.push(HEADER_BYTES + packed.length < plain.length ? withHeader(COMPRESSED, packed, plain.length) : text);
  }
  return stored;
}

/** The stored forms of texts that many threads have. */
const shared = new LRUCache<string, StoredText>({
  max: 1_000,
  maxSize: 8 * 1024 * 1024,
  sizeCalculation: (stored, text) => text.length + stored.length + 1,
});

/**
 * The smaller form of texts that other threads probably have too, such as their context: those that a user begins on one day mostly have
 * the same one. Each is compressed once.
 */
export async function compressShared(texts: readonly string[]): Promise<StoredText[]> {
  const known = texts.map((text) => shared.get(text));
  const unknown = texts.filter((_, at) => known[at] === undefined);
  const compressed = await compressTexts(unknown);
  for (const [at, text] of unknown.entries()) shared.set(text, compressed[at] ?? text);
  const rest = compressed.values();
  return texts.map((text, at) => known[at] ?? rest.next().value ?? text);
}

/** The characters of codes: JSON has none of them, but other texts may. */
const CODES = /[\u0001-\u001f]/;

/** The abbreviated form of a text that is mostly names, as a short answer is; undefined for others. */
function abbreviated(text: string): Buffer | undefined {
  if (text.length > MAX_ABBREVIATED_BYTES || CODES.test(text)) return undefined;
  const short = messagePhrases.abbreviate(text);
  if (short.length > text.length * MAX_ABBREVIATED_SHARE) return undefined;
  return withHeader(ABBREVIATED, Buffer.from(short), Buffer.byteLength(text));
}

function withHeader(form: number, packed: Buffer, plainBytes: number): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  header.writeUInt8(form);
  header.writeUInt32BE(plainBytes, 1);
  return Buffer.concat([header, packed]);
}

/**
 * The texts of their stored forms. More than the event loop has time for is expanded by the thread pool.
 *
 * @throws {BugError} for a form that this version does not know, or a damaged one
 */
export async function expandTexts(stored: readonly StoredText[]): Promise<string[]> {
  const texts: string[] = [];
  let bytesLeft = INFLATED_PER_TURN;
  for (const form of stored) {
    if (typeof form === 'string') {
      texts.push(form);
      continue;
    }
    const plainBytes = plainBytesOf(form);
    if (form[0] === ABBREVIATED) {
      texts.push(messagePhrases.expand(form.subarray(HEADER_BYTES).toString()));
      continue;
    }
    bytesLeft -= plainBytes;
    texts.push(await expand(form, plainBytes, bytesLeft >= 0));
    if (bytesLeft < 0) bytesLeft = INFLATED_PER_TURN;
  }
  return texts;
}

/** The text of one stored form. @throws as `expandTexts`. */
export async function expandText(stored: StoredText): Promise<string> {
  const [text = ''] = await expandTexts([stored]);
  return text;
}

async function expand(form: Buffer, plainBytes: number, now: boolean): Promise<string> {
  const packed = form.subarray(HEADER_BYTES);
  const options = { dictionary, maxOutputLength: plainBytes, chunkSize: Math.max(plainBytes, 64) };
  try {
    return (now ? inflateRawSync(packed, options) : await inflateInPool(packed, options)).toString();
  } catch (error) {
    throw new BugError('the store holds a compressed text that is damaged', { cause: error });
  }
}

function plainBytesOf(form: Buffer): number {
  const isKnown = form[0] === COMPRESSED || form[0] === ABBREVIATED;
  if (isKnown && form.length > HEADER_BYTES) return form.readUInt32BE(1);
  throw new BugError('the store holds a text in a form that this version does not know', {
    details: { firstByte: form[0] },
  });
}

/** A reply of Redis whose buffers are texts, but for those in a binary form. */
export function withTexts(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(withTexts);
  return Buffer.isBuffer(reply) ? toStoredText(reply) : reply;
}

/** A value of Redis: a buffer when it is in a binary form, else its text. */
export const toStoredText = (value: Buffer): StoredText => ((value[0] ?? 0) >= FIRST_BINARY ? value : value.toString());

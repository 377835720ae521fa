import { utf8Bytes, utf8Text } from './utf8-text.js';

/**
 * JSON whose long texts follow it as plain UTF-8: nobody escapes them, and a receiver that needs bytes neither parses nor decodes them. For
 * a file of 1 MiB that takes as long as all else that a receiver does.
 *
 * A byte that no JSON begins with, the length of the JSON in four bytes (the highest first), the JSON, and the texts one after the other.
 */
const MARK = 1;
const HEAD_BYTES = 5;

/** A value, and the bytes that follow it. */
export interface WithAttachments {
  readonly value: unknown;
  readonly attachments: Uint8Array;
}

/** Whether the bytes are what `encodeAttached` has made. */
export const hasAttachments = (bytes: Uint8Array): boolean => bytes[0] === MARK;

/** The bytes of a value with texts; it should say how long each of them is. */
export function encodeAttached(value: unknown, texts: readonly Uint8Array[]): Uint8Array {
  const json = utf8Bytes(JSON.stringify(value));
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(MARK);
  head.writeUInt32BE(json.byteLength, 1);
  return Buffer.concat([head, json, ...texts]);
}

/** The value and what follows it, as a view. @throws {SyntaxError} when it is cut or no JSON */
export function decodeAttached(bytes: Uint8Array): WithAttachments {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.byteLength < HEAD_BYTES) throw new SyntaxError('the head of the attachments is cut');
  const end = HEAD_BYTES + view.readUInt32BE(1);
  if (end > view.byteLength) throw new SyntaxError('the JSON before the attachments is cut');
  return { value: JSON.parse(utf8Text(view.subarray(HEAD_BYTES, end))), attachments: view.subarray(end) };
}

import { utf8Bytes } from '@caribou/core';

/** Shorter texts are part of the JSON around them. */
const LONG_CHARS = 16 * 1024;

/**
 * JSON in UTF-8 of values that have the same long texts as fields: each text is encoded once. For a file of 1 MiB that takes as long as all else that
 * is done to send it.
 */
export class LongTexts {
  private readonly encoded = new Map<string, Uint8Array>();

  /** The bytes of `JSON.stringify(value)`, in pieces. */
  *value(value: unknown): Generator<Uint8Array, void> {
    if (!isObject(value) || !hasLongText(value)) {
      yield utf8(JSON.stringify(value));
      return;
    }
    yield* this.fields(value);
  }

  private *fields(fields: object): Generator<Uint8Array, void> {
    let before = '{';
    for (const [name, value] of Object.entries(fields) as [string, unknown][]) {
      // It has no field in JSON.
      if (value === undefined) continue;
      before += `${JSON.stringify(name)}:`;
      if (isLongText(value)) {
        yield utf8(before);
        yield this.encode(value);
        before = ',';
      } else before += `${JSON.stringify(value)},`;
    }
    yield utf8(before === '{' ? '{}' : `${before.slice(0, -1)}}`);
  }

  /** The bytes of `JSON.stringify(entries)`, in pieces. */
  *entries(entries: readonly (readonly [string, string | boolean])[]): Generator<Uint8Array, void> {
    let before = '[';
    for (const [name, value] of entries) {
      before += `[${JSON.stringify(name)},`;
      if (isLongText(value)) {
        yield utf8(before);
        yield this.encode(value);
        before = '],';
      } else before += `${JSON.stringify(value)}],`;
    }
    yield utf8(before === '[' ? '[]' : `${before.slice(0, -1)}]`);
  }

  private encode(text: string): Uint8Array {
    const bytes = this.encoded.get(text) ?? utf8Bytes(JSON.stringify(text));
    this.encoded.set(text, bytes);
    return bytes;
  }
}

const utf8 = (text: string): Uint8Array => Buffer.from(text, 'utf8');

/** Whether it is worth being encoded once, or attached. */
export const isLongText = (value: unknown): value is string => typeof value === 'string' && value.length >= LONG_CHARS;

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const hasLongText = (fields: object): boolean => Object.values(fields).some(isLongText);

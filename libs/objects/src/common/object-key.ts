import { InvalidRequestError } from '@caribou/contracts';
import type { ObjectRange } from '@caribou/core';

export const MAX_KEY_CHARS = 512;
const MAX_SEGMENT_CHARS = 200;
/** Keys of one call of `remove`, and objects of one page of `list`. */
export const MAX_PAGE = 1_000;
const MAX_SHOWN_CHARS = 80;

const ALPHABET = /^[a-z0-9_./-]*$/;

/** Whether a store may have an object of this key. */
export const isKey = (key: string): boolean => faultOf(key) === undefined;

/** @throws {InvalidRequestError} for a key that no store takes, naming the limit */
export function checkKey(key: string): void {
  const fault = faultOf(key);
  if (fault !== undefined) throw invalid('key', key, fault);
}

/** @throws {InvalidRequestError} for a prefix that no key can have */
export function checkPrefix(prefix: string): void {
  if (prefix === '') return;
  const fault = prefix.endsWith('/') ? faultOf(prefix.slice(0, -1)) : faultOf(completed(prefix));
  if (fault !== undefined) throw invalid('prefix', prefix, fault);
}

/** @throws {InvalidRequestError} for more keys than one call may have, or for a key that no store takes */
export function checkKeys(keys: readonly string[]): void {
  if (keys.length > MAX_PAGE)
    throw new InvalidRequestError(`keys: ${keys.length} in one call, at most ${MAX_PAGE} are allowed`, {
      details: { field: 'keys', limit: MAX_PAGE },
    });
  keys.forEach(checkKey);
}

/** @throws {InvalidRequestError} unless 0 <= start <= end, in whole numbers */
export function checkRange({ start, end }: ObjectRange): void {
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start <= end) return;
  throw new InvalidRequestError(`range: ${start} to ${end} is not a range of whole numbers from 0`, {
    details: { field: 'range' },
  });
}

/** The error for a range that begins behind an object of `size` bytes. */
export const behindObject = ({ start }: ObjectRange, size: number): InvalidRequestError =>
  new InvalidRequestError(`range: it begins at byte ${start} of an object of ${size} bytes`, {
    details: { field: 'range', limit: size },
  });

/** A prefix as a key: `.` and `..` may be the beginning of more. */
const completed = (prefix: string): string => prefix.replace(/(^|\/)\.{1,2}$/, '$1x');

function faultOf(key: string): string | undefined {
  if (key.length === 0 || key.length > MAX_KEY_CHARS) return `must have 1 to ${MAX_KEY_CHARS} characters`;
  if (!ALPHABET.test(key)) return 'must consist of a-z, 0-9, "-", "_", "." and "/"';
  for (const segment of key.split('/')) {
    if (segment === '' || segment === '.' || segment === '..') return 'must not have an empty part, "." or ".."';
    if (segment.length > MAX_SEGMENT_CHARS) return `must have at most ${MAX_SEGMENT_CHARS} characters between two "/"`;
  }
  return undefined;
}

const invalid = (field: string, value: string, fault: string): InvalidRequestError =>
  new InvalidRequestError(`${field}: ${JSON.stringify(value.slice(0, MAX_SHOWN_CHARS))} ${fault}`, {
    details: { field, limit: MAX_KEY_CHARS },
  });

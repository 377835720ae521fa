/** Marks where text was left out. */
export const OMITTED = '[...]';

/** The beginning of escaped text in at most `maxBytes` of UTF-8, no character and no entity cut in two. */
export function headOf(escaped: string, maxBytes: number): string {
  if (Buffer.byteLength(escaped) <= maxBytes) return escaped;
  const bytes = Buffer.from(escaped).subarray(0, Math.max(0, maxBytes - OMITTED.length));
  return `${bytes
    .toString()
    .replace(/\uFFFD+$/, '')
    .replace(BROKEN_END, '')}${OMITTED}`;
}

/** The end of escaped text in at most `maxBytes` of UTF-8. */
export function tailOf(escaped: string, maxBytes: number): string {
  const bytes = Buffer.from(escaped);
  if (bytes.length <= maxBytes) return escaped;
  const end = bytes.subarray(bytes.length - Math.max(0, maxBytes - OMITTED.length));
  return `${OMITTED}${end
    .toString()
    .replace(/^\uFFFD+/, '')
    .replace(BROKEN_START, '')}`;
}

/** The end of escaped text in at most `maxChars` UTF-16 code units. */
export function tailOfChars(escaped: string, maxChars: number): string {
  if (escaped.length <= maxChars) return escaped;
  const end = escaped.slice(escaped.length - Math.max(0, maxChars - OMITTED.length));
  return `${OMITTED}${end.replace(/^[\udc00-\udfff]/, '').replace(BROKEN_START, '')}`;
}

/**
 * Matches an entity that the cut has broken: in escaped text `&` only begins an entity. A word before a `;` next to the
 * cut may be lost with it.
 */
const BROKEN_END = /&[a-z]{0,3}$/;
const BROKEN_START = /^[a-z]{0,3};/;

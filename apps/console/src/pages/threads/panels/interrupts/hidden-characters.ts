/** A part of a text: as it is, or a character that a reader would not see or that changes the order of what is read. */
export interface TextPart {
  readonly text: string;
  /** Code point such as `U+202E`; absent for text that is shown as it is. */
  readonly code?: string;
}

/**
 * Controls except tab and line breaks, marks that reorder text, characters without width, separators of lines that look like spaces, and
 * tags. A text with them can look like another one.
 */
const HIDDEN =
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u00AD\u061C\u115F\u1160\u180E\u200B-\u200F\u2028-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF9-\uFFFB\u{E0000}-\u{E007F}]/gu;

/** A carriage return alone lets what follows look like the beginning of the line. */
const LONE_RETURN = /\r(?!\n)/g;

/** Whether a text has characters that cannot be seen. */
export const hasHidden = (text: string): boolean => text.search(HIDDEN) >= 0 || text.search(LONE_RETURN) >= 0;

/** Whether a text or any text within a value has characters that cannot be seen; names of members count. */
export function hasHiddenWithin(value: unknown): boolean {
  if (typeof value === 'string') return hasHidden(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, member]) => hasHidden(name) || hasHiddenWithin(member));
}

/** Splits a text into parts that are shown as they are and single characters that have to be made visible. */
export function revealHidden(text: string): readonly TextPart[] {
  const parts: TextPart[] = [];
  let from = 0;
  for (const { index, 0: found } of hiddenIn(text)) {
    if (index > from) parts.push({ text: text.slice(from, index) });
    parts.push({ text: found, code: codeOf(found) });
    from = index + found.length;
  }
  if (from < text.length) parts.push({ text: text.slice(from) });
  return parts;
}

const hiddenIn = (text: string): readonly RegExpExecArray[] =>
  [...text.matchAll(HIDDEN), ...text.matchAll(LONE_RETURN)].sort((left, right) => left.index - right.index);

const codeOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** JSON in which hidden characters are escapes, so that they can be seen and edited; it means the same. */
export const escapeHidden = (json: string): string =>
  json.replaceAll(HIDDEN, (found) =>
    Array.from(
      { length: found.length },
      (_, index) => `\\u${found.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join(''),
  );

/** A text in which hidden characters are replaced by their codes, for texts that are too long for a mark for each. */
export const revealAsText = (text: string): string =>
  text.replaceAll(HIDDEN, (found) => `⟨${codeOf(found)}⟩`).replaceAll(LONE_RETURN, '⟨U+000D⟩');

const lineEnds = /[\p{Cc}\p{Zl}\p{Zp}]+/gu;
/**
 * Invisible characters, bidirectional controls and variation selectors, which can carry hidden text. Joiners are part of
 * letters and emoji and are not matched.
 */
const invisible = /(?![\u200c\u200d])\p{Cf}|[\u{e0100}-\u{e01ef}]/gu;

/** Longest input that is processed; texts from a model have any length, and stored ones are far shorter. */
const MAX_READ_CHARS = 20_000;
const CUT = '…';

/** Normalizes a text for storage: one line of visible characters, at most `maxChars` UTF-16 units. */
export function toMemoryText(text: string, maxChars: number): string {
  const visible = text.slice(0, MAX_READ_CHARS).normalize('NFC').replace(lineEnds, ' ').replace(invisible, '');
  const line = visible.replace(/\s+/g, ' ').trim();
  if (line.length <= maxChars) return line;
  const head = line.slice(0, maxChars - CUT.length).replace(/[\ud800-\udbff]$/, '');
  return `${head.trimEnd()}${CUT}`;
}

/** A key that is equal for texts that differ only in case, width, spaces or final punctuation. */
export const comparisonKey = (content: string): string =>
  content
    .normalize('NFKC')
    .toLowerCase()
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/[.!。！]+$/u, '');

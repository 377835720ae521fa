const lineEnds = /[\p{Cc}\p{Zl}\p{Zp}]+/gu;
/**
 * Characters that show nothing or turn a line around, and selectors of rare variants, which can carry hidden words;
 * joiners make letters and emoji, so they stay.
 */
const unseen = /(?![\u200c\u200d])\p{Cf}|[\u{e0100}-\u{e01ef}]/gu;

/** Longest text looked at: a model may answer anything, and the bounds of what is kept are far below. */
const MAX_READ_CHARS = 20_000;
const CUT = '…';

/** A text as it is remembered: one line of visible characters, at most `maxChars` UTF-16 units. */
export function rememberedText(text: string, maxChars: number): string {
  const visible = text.slice(0, MAX_READ_CHARS).normalize('NFC').replace(lineEnds, ' ').replace(unseen, '');
  const line = visible.replace(/\s+/g, ' ').trim();
  if (line.length <= maxChars) return line;
  const kept = line.slice(0, maxChars - CUT.length).replace(/[\ud800-\udbff]$/, '');
  return `${kept.trimEnd()}${CUT}`;
}

/** What two contents share when they say the same: neither case, width, spaces nor a last mark count. */
export const sameness = (content: string): string =>
  content
    .normalize('NFKC')
    .toLowerCase()
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/[.!。！]+$/u, '');

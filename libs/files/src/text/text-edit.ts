/** An edit of a file's bytes, and the lines it changed: 1-based and inclusive, in the new content. */
export interface TextEdit {
  readonly content: Buffer;
  readonly changed: readonly { readonly first: number; readonly last: number }[];
}

const NEWLINE = 0x0a;

/** Where `part` occurs in `content`, from its beginning and never overlapping. */
export function occurrences(content: Buffer, part: Buffer): readonly number[] {
  const places: number[] = [];
  if (part.length === 0) return places;
  for (let at = content.indexOf(part); at !== -1; at = content.indexOf(part, at + part.length)) places.push(at);
  return places;
}

/**
 * Replaces `length` bytes at each of the offsets, which are in order and do not overlap. All other bytes stay as they
 * are, UTF-8 or not. An empty replacement changes the line it was in.
 */
export function replaceAt(
  content: Buffer,
  places: readonly number[],
  { length, by }: { readonly length: number; readonly by: Buffer },
): TextEdit {
  const parts: Buffer[] = [];
  const changed: { first: number; last: number }[] = [];
  const spanned = newlines(by.at(-1) === NEWLINE ? by.subarray(0, -1) : by);
  let from = 0;
  let line = 1;
  for (const place of places) {
    const before = content.subarray(from, place);
    line += newlines(before);
    parts.push(before, by);
    const previous = changed.at(-1);
    if (previous !== undefined && line <= previous.last + 1) previous.last = Math.max(previous.last, line + spanned);
    else changed.push({ first: line, last: line + spanned });
    line += newlines(by);
    from = place + length;
  }
  return { content: Buffer.concat([...parts, content.subarray(from)]), changed };
}

function newlines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/**
 * Splits Markdown into blocks that can be read each for itself, at blank lines outside of fenced code. Joined they are the text. While
 * a text grows only its last block changes.
 */
export function blocksOf(text: string): readonly string[] {
  const blocks: string[] = [];
  let current = '';
  let fence: string | undefined;
  let isAfterBlank = false;
  for (const line of text.split(/(?<=\n)/)) {
    const isBlank = line.trim() === '';
    // What is indented belongs to a list above it.
    if (isAfterBlank && !isBlank && fence === undefined && !/^\s/.test(line)) {
      blocks.push(current);
      current = '';
    }
    fence = fenceAfter(line, fence);
    isAfterBlank = isBlank;
    current += line;
  }
  return current === '' ? blocks : [...blocks, current];
}

/** The fence that is open after a line. */
function fenceAfter(line: string, open: string | undefined): string | undefined {
  const mark = FENCE.exec(line)?.[1];
  if (mark === undefined) return open;
  if (open === undefined) return mark;
  return mark[0] === open[0] && mark.length >= open.length && line.trim() === mark ? undefined : open;
}

/** A line of a comparison. */
export interface DiffRow {
  readonly kind: 'hunk' | 'added' | 'removed' | 'same' | 'note';
  /** Line number before and after; absent for a line that only the other side has. */
  readonly before?: number;
  readonly after?: number;
  readonly text: string;
}

/** Characters of a line that are shown. */
const MAX_LINE_CHARS = 2_000;

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

const cut = (text: string): string => (text.length <= MAX_LINE_CHARS ? text : `${text.slice(0, MAX_LINE_CHARS)}…`);

/** The lines of a unified diff with their numbers. The two lines that name the files are left out. */
export function diffRows(diff: string): readonly DiffRow[] {
  const rows: DiffRow[] = [];
  let [before, after, isInHunk] = [0, 0, false];
  for (const line of linesOf(diff)) {
    const hunk = HUNK.exec(line);
    if (hunk !== null) {
      [before, after, isInHunk] = [Number(hunk[1]), Number(hunk[2]), true];
      rows.push({ kind: 'hunk', text: cut(line) });
    } else if (isInHunk) {
      const row = rowOf(line, before, after);
      if (row.before !== undefined) before += 1;
      if (row.after !== undefined) after += 1;
      rows.push(row);
    }
  }
  return rows;
}

function rowOf(line: string, before: number, after: number): DiffRow {
  const text = cut(line.slice(1));
  switch (line[0]) {
    case '+':
      return { kind: 'added', after, text };
    case '-':
      return { kind: 'removed', before, text };
    case '\\':
      return { kind: 'note', text: cut(line.slice(2)) };
    default:
      return { kind: 'same', before, after, text };
  }
}

function linesOf(diff: string): readonly string[] {
  const lines = diff.split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

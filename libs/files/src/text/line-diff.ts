/** A difference of two texts as a unified diff shows it. */
export interface LineDiff {
  /** Hunks with three lines around each change; empty when the texts are equal. */
  readonly hunks: string;
  readonly additions: number;
  readonly deletions: number;
}

/** Lines that stay (` `), are removed (`-`) or added (`+`). */
interface DiffLine {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

const CONTEXT = 3;
/** Changed lines up to which the smallest difference is searched for; beyond, all lines between the first and last change differ. */
const MAX_EDITS = 800;
const NO_NEWLINE = '\\ No newline at end of file';

/** Lines with their line feed; the last one may have none. */
const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** The difference of two texts by lines. Its cost is bounded by `MAX_EDITS` times the number of lines. */
export function diffLines(before: string, after: string): LineDiff {
  const [left, right] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  let [leftEnd, rightEnd] = [left.length, right.length];
  while (leftEnd > start && rightEnd > start && left[leftEnd - 1] === right[rightEnd - 1]) {
    leftEnd -= 1;
    rightEnd -= 1;
  }
  const [removed, added] = [left.slice(start, leftEnd), right.slice(start, rightEnd)];
  const stays = (text: string): DiffLine => ({ sign: ' ', text });
  const lines = [
    ...left.slice(0, start).map(stays),
    ...(smallestEdits(removed, added) ?? wholesale(removed, added)),
    ...left.slice(leftEnd).map(stays),
  ];
  const count = (sign: string): number => lines.filter((line) => line.sign === sign).length;
  return { hunks: hunksOf(lines), additions: count('+'), deletions: count('-') };
}

const wholesale = (removed: readonly string[], added: readonly string[]): DiffLine[] => [
  ...removed.map((text): DiffLine => ({ sign: '-', text })),
  ...added.map((text): DiffLine => ({ sign: '+', text })),
];

/** The edits by the algorithm of Myers; undefined when there are more than `MAX_EDITS`. */
function smallestEdits(left: readonly string[], right: readonly string[]): DiffLine[] | undefined {
  const max = Math.min(MAX_EDITS, left.length + right.length);
  // Furthest position in `left` on each diagonal, shifted by `max + 1`.
  const furthest = new Int32Array(2 * max + 3);
  const rounds: Int32Array[] = [];
  for (let edits = 0; edits <= max; edits += 1) {
    rounds.push(furthest.slice(max - edits, max + edits + 3));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const at = max + 1 + diagonal;
      const isDown =
        diagonal === -edits || (diagonal !== edits && reached(furthest, at - 1) < reached(furthest, at + 1));
      let x = isDown ? reached(furthest, at + 1) : reached(furthest, at - 1) + 1;
      while (x < left.length && x - diagonal < right.length && left[x] === right[x - diagonal]) x += 1;
      furthest[at] = x;
      if (x >= left.length && x - diagonal >= right.length) return editsOf(left, right, rounds);
    }
  }
  return undefined;
}

const reached = (positions: Int32Array, at: number): number => positions[at] ?? 0;

/** Walks from the end to the beginning; the array of round d begins at diagonal -d - 1. */
function editsOf(left: readonly string[], right: readonly string[], rounds: readonly Int32Array[]): DiffLine[] {
  const lines: DiffLine[] = [];
  let [x, y] = [left.length, right.length];
  const keepTo = (endX: number, endY: number): void => {
    for (; x > endX && y > endY; y -= 1) {
      x -= 1;
      lines.push({ sign: ' ', text: left[x] ?? '' });
    }
  };
  for (let edits = rounds.length - 1; edits > 0; edits -= 1) {
    const { isDown, before } = stepBefore(rounds[edits] ?? new Int32Array(0), { edits, diagonal: x - y });
    // The line after the edit: one was added below the former position, or removed from it.
    keepTo(isDown ? before.x : before.x + 1, isDown ? before.y + 1 : before.y);
    lines.push(isDown ? { sign: '+', text: right[before.y] ?? '' } : { sign: '-', text: left[before.x] ?? '' });
    [x, y] = [before.x, before.y];
  }
  keepTo(0, 0);
  return lines.reverse();
}

/** The position from which a diagonal was reached with this many edits, and whether by an added line. */
function stepBefore(
  positions: Int32Array,
  { edits, diagonal }: { readonly edits: number; readonly diagonal: number },
): { readonly isDown: boolean; readonly before: { readonly x: number; readonly y: number } } {
  const at = diagonal + edits + 1;
  const isDown = diagonal === -edits || (diagonal !== edits && reached(positions, at - 1) < reached(positions, at + 1));
  const x = reached(positions, isDown ? at + 1 : at - 1);
  return { isDown, before: { x, y: x - diagonal - (isDown ? 1 : -1) } };
}

interface Span {
  readonly from: number;
  /** Behind the last line. */
  readonly to: number;
}

function hunksOf(lines: readonly DiffLine[]): string {
  let hunks = '';
  let [left, right, at] = [0, 0, 0];
  for (const { from, to } of spansOf(lines)) {
    for (; at < from; at += 1) {
      left += 1;
      right += 1;
    }
    const shown = lines.slice(from, to);
    const [removed, added] = [shown.filter(({ sign }) => sign !== '+'), shown.filter(({ sign }) => sign !== '-')];
    hunks += `@@ -${rangeText(left, removed.length)} +${rangeText(right, added.length)} @@\n`;
    hunks += shown.map(lineText).join('');
    left += removed.length;
    right += added.length;
    at = to;
  }
  return hunks;
}

/** The parts with changes and the lines around them; those that meet are one. */
function spansOf(lines: readonly DiffLine[]): Span[] {
  const spans: Span[] = [];
  lines.forEach(({ sign }, at) => {
    if (sign === ' ') return;
    const span = { from: Math.max(0, at - CONTEXT), to: Math.min(lines.length, at + CONTEXT + 1) };
    const last = spans.at(-1);
    if (last !== undefined && span.from <= last.to) spans[spans.length - 1] = { from: last.from, to: span.to };
    else spans.push(span);
  });
  return spans;
}

/** Lines are counted from 1; a range without lines has the number of the line before it. */
const rangeText = (before: number, lines: number): string =>
  `${lines === 0 ? before : before + 1}${lines === 1 ? '' : `,${lines}`}`;

const lineText = ({ sign, text }: DiffLine): string =>
  text.endsWith('\n') ? `${sign}${text}` : `${sign}${text}\n${NO_NEWLINE}\n`;

import { formatCount } from '../../../../text/format.js';
import { history as texts } from '../../../../text/panels-history.js';

/** One line of a tree of JSON. */
export interface TreeRow {
  /** Path of the value, which identifies the row. */
  readonly key: string;
  readonly depth: number;
  /** Name of the member or index of the item; empty for lines of a text. */
  readonly label: string;
  /** `node` can be opened; `more` shows further children of the node that `key` names. */
  readonly kind: 'node' | 'leaf' | 'line' | 'more';
  readonly isOpen: boolean;
  /** The value, or what a closed node has. */
  readonly text: string;
}

/** Which nodes are open, and how many children each of them shows. */
export type OpenNodes = ReadonlyMap<string, number>;

/** Children that an opened node shows at first, and how many more with each request. */
export const CHILDREN_OF_WINDOW = 100;
/** Rows of a tree in all. */
export const MAX_ROWS = 20_000;
/** A text up to this length is shown in its row; a longer one is a node whose children are its lines. */
const SHORT_CHARS = 120;

/** The rows of a value, only for what is open: a value of megabytes costs as much as what is shown of it. */
export function treeRows(value: unknown, open: OpenNodes): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  addRows(rows, { value, label: texts.root, key: '', depth: 0 }, open);
  return rows;
}

interface Entry {
  readonly value: unknown;
  readonly label: string;
  readonly key: string;
  readonly depth: number;
}

function addRows(rows: TreeRow[], { value, label, key, depth }: Entry, open: OpenNodes): void {
  if (rows.length >= MAX_ROWS) return;
  const size = sizeOf(value);
  if (size === undefined) {
    rows.push({ key, depth, label, kind: 'leaf', isOpen: false, text: JSON.stringify(value) ?? 'undefined' });
    return;
  }
  const shown = open.get(key);
  rows.push({ key, depth, label, kind: 'node', isOpen: shown !== undefined, text: summaryOf(value, size) });
  if (shown === undefined) return;
  const below = depth + 1;
  if (typeof value === 'string') {
    for (const [index, text] of linesOf(value, shown).entries())
      rows.push({ key: `${key}#${index}`, depth: below, label: '', kind: 'line', isOpen: false, text });
  } else {
    for (const [name, member] of childrenOf(value, shown))
      addRows(rows, { value: member, label: name, key: `${key}/${escaped(name)}`, depth: below }, open);
  }
  const left = size - shown;
  if (left <= 0) return;
  const text = rows.length >= MAX_ROWS ? texts.tooManyRows : texts.showMore(formatCount(left));
  rows.push({ key: `${key}+`, depth: below, label: '', kind: 'more', isOpen: false, text });
}

/** How many children a value has; undefined for one that is shown in one row. */
function sizeOf(value: unknown): number | undefined {
  if (typeof value === 'string') return value.length <= SHORT_CHARS ? undefined : countLines(value);
  if (typeof value !== 'object' || value === null) return undefined;
  const size = Array.isArray(value) ? value.length : Object.keys(value).length;
  return size === 0 ? undefined : size;
}

function summaryOf(value: unknown, size: number): string {
  if (typeof value === 'string')
    return `${JSON.stringify(value.slice(0, 60))}… ${texts.characters(formatCount(value.length))}`;
  return Array.isArray(value) ? texts.items(size) : texts.fields(size);
}

function childrenOf(value: unknown, count: number): readonly (readonly [string, unknown])[] {
  if (Array.isArray(value)) return value.slice(0, count).map((item: unknown, index) => [String(index), item]);
  const members = value as Readonly<Record<string, unknown>>;
  return Object.keys(members)
    .slice(0, count)
    .map((name) => [name, members[name]]);
}

/** Lines of a text, long ones in pieces. */
function* piecesOf(text: string): Generator<string> {
  let from = 0;
  while (from < text.length) {
    const newline = text.indexOf('\n', from);
    const lineEnd = newline === -1 ? text.length : newline;
    const end = Math.min(lineEnd, from + SHORT_CHARS);
    yield text.slice(from, end);
    from = end === lineEnd ? lineEnd + 1 : end;
  }
}

function countLines(text: string): number {
  let count = 0;
  for (const _piece of piecesOf(text)) count += 1;
  return count;
}

function linesOf(text: string, count: number): readonly string[] {
  const lines: string[] = [];
  for (const piece of piecesOf(text)) {
    if (lines.length >= count) break;
    lines.push(piece);
  }
  return lines;
}

/** As in a JSON pointer, so that two paths are never the same; `#` and `+` end the keys of rows that are no values. */
const escaped = (name: string): string =>
  name.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('#', '~2').replaceAll('+', '~3');

/** The open nodes after a click on a row: a node is opened or closed, `more` makes its node show more. */
export function toggled(open: OpenNodes, { key, kind, isOpen }: TreeRow): OpenNodes {
  const next = new Map(open);
  if (kind === 'more') {
    const node = key.slice(0, -1);
    next.set(node, (next.get(node) ?? 0) + CHILDREN_OF_WINDOW);
  } else if (kind === 'node') {
    if (isOpen) next.delete(key);
    else next.set(key, CHILDREN_OF_WINDOW);
  }
  return next;
}

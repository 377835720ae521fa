/**
 * Patterns over relative paths: `*` and `?` within a segment, `**` over segments, `[a-z]`, `[!a-z]`, `{a,b}`. A pattern
 * without a slash is matched with the last segment, wherever it lies. Matching follows all readings of the pattern at
 * once, so its time is at most the product of both lengths, whatever the pattern.
 */

/** Longest pattern, in characters. */
export const MAX_GLOB_CHARS = 200;

export type PathMatcher = (relativePath: string) => boolean;

type CharTest = (char: string) => boolean;

type Piece =
  | { readonly kind: 'one'; readonly test: CharTest }
  | { readonly kind: 'many'; readonly test: CharTest }
  | { readonly kind: 'folders' }
  | { readonly kind: 'choice'; readonly options: readonly (readonly Piece[])[] };

/** Without a test, the states in `next` are reached together with it, without a character. */
interface State {
  readonly test?: CharTest;
  readonly next: State[];
}

const inSegment: CharTest = (char) => char !== '/';
const anyChar: CharTest = () => true;
const slash: CharTest = (char) => char === '/';

/** @throws RangeError for a pattern of more than 200 characters */
export function globPattern(pattern: string): PathMatcher {
  if (pattern.length > MAX_GLOB_CHARS) throw new RangeError(`a pattern has at most ${MAX_GLOB_CHARS} characters`);
  const end: State = { next: [] };
  const start = link(parse(Array.from(pattern)), end);
  const lastSegmentOnly = !pattern.includes('/') && !pattern.includes('**');
  return (path) => matches(start, end, lastSegmentOnly ? path.slice(path.lastIndexOf('/') + 1) : path);
}

function matches(start: State, end: State, text: string): boolean {
  let current = new Set<State>();
  enter(current, start);
  for (const char of text) {
    const following = new Set<State>();
    for (const state of current) {
      if (state.test?.(char) === true) for (const next of state.next) enter(following, next);
    }
    if (following.size === 0) return false;
    current = following;
  }
  return current.has(end);
}

/** Adds a state and all that are reached from it without a character. */
function enter(states: Set<State>, first: State): void {
  const open = [first];
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    if (states.has(state)) continue;
    states.add(state);
    if (state.test === undefined) open.push(...state.next);
  }
}

/** The state from which `pieces` lead to `next`. */
const link = (pieces: readonly Piece[], next: State): State =>
  pieces.reduceRight((following, piece) => linkPiece(piece, following), next);

function linkPiece(piece: Piece, next: State): State {
  if (piece.kind === 'one') return { test: piece.test, next: [next] };
  if (piece.kind === 'choice') return { next: piece.options.map((option) => link(option, next)) };
  const again: State = { next: [next] };
  if (piece.kind === 'many') {
    again.next.push({ test: piece.test, next: [again] });
    return again;
  }
  // Any number of whole segments, each with its slash.
  const inside: State = { test: inSegment, next: [] };
  inside.next.push(inside, { test: slash, next: [again] });
  again.next.push(inside);
  return again;
}

function parse(chars: readonly string[]): readonly Piece[] {
  const pieces: Piece[] = [];
  for (let at = 0; at < chars.length; ) {
    const { piece, length } = nextPiece(chars, at);
    pieces.push(...piece);
    at += length;
  }
  return pieces;
}

interface Parsed {
  readonly piece: readonly Piece[];
  readonly length: number;
}

function nextPiece(chars: readonly string[], at: number): Parsed {
  const char = chars[at] ?? '';
  if (char === '*') return star(chars, at);
  if (char === '?') return { piece: [{ kind: 'one', test: inSegment }], length: 1 };
  const group = char === '[' ? charClass(chars, at) : char === '{' ? choice(chars, at) : undefined;
  if (group !== undefined) return group;
  const escaped = char === '\\' && at + 1 < chars.length;
  const wanted = escaped ? chars[at + 1] : char;
  return { piece: [{ kind: 'one', test: (seen) => seen === wanted }], length: escaped ? 2 : 1 };
}

function star(chars: readonly string[], at: number): Parsed {
  let length = 1;
  while (chars[at + length] === '*') length += 1;
  const wholeSegment = length > 1 && (at === 0 || chars[at - 1] === '/');
  const after = chars[at + length];
  if (wholeSegment && after === '/') return { piece: [{ kind: 'folders' }], length: length + 1 };
  if (wholeSegment && after === undefined) {
    return {
      piece: [
        { kind: 'one', test: anyChar },
        { kind: 'many', test: anyChar },
      ],
      length,
    };
  }
  return { piece: [{ kind: 'many', test: inSegment }], length };
}

/** Parses a class of characters; undefined when it is not closed, so that the bracket is matched literally. */
function charClass(chars: readonly string[], at: number): Parsed | undefined {
  const negated = chars[at + 1] === '!' || chars[at + 1] === '^';
  const from = at + (negated ? 2 : 1);
  const close = chars.indexOf(']', from + 1);
  if (close === -1) return undefined;
  const members = chars.slice(from, close);
  const isMember: CharTest = (char) => {
    for (let index = 0; index < members.length; index += 1) {
      const low = members[index] ?? '';
      const high = members[index + 1] === '-' ? members[index + 2] : undefined;
      if (high === undefined ? char === low : char >= low && char <= high) return true;
      if (high !== undefined) index += 2;
    }
    return false;
  };
  return {
    piece: [{ kind: 'one', test: (char) => char !== '/' && isMember(char) !== negated }],
    length: close + 1 - at,
  };
}

/** Parses alternatives in braces; undefined when they are not closed, so that the brace is matched literally. */
function choice(chars: readonly string[], at: number): Parsed | undefined {
  const options: (readonly Piece[])[] = [];
  let depth = 0;
  let from = at + 1;
  for (let index = at; index < chars.length; index += 1) {
    const char = chars[index];
    if (char === '\\') index += 1;
    if (char === '{') depth += 1;
    if (char === '}') depth -= 1;
    const closes = char === '}' && depth === 0;
    if (!closes && !(char === ',' && depth === 1)) continue;
    options.push(parse(chars.slice(from, index)));
    from = index + 1;
    if (closes) return { piece: [{ kind: 'choice', options }], length: index + 1 - at };
  }
  return undefined;
}

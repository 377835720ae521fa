/** A place between characters: of the text, of a word, or inside or outside of one. */
export type Edge = 'start' | 'end' | 'word' | 'not_word';

/** A regular expression as far as it can be matched without going back. */
export type PatternNode =
  | { readonly kind: 'char'; readonly fits: (char: string) => boolean }
  | { readonly kind: 'edge'; readonly edge: Edge }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly of: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly node: PatternNode; readonly min: number; readonly max: number };

const edges: Readonly<Record<string, Edge>> = { '^': 'start', $: 'end', '\\b': 'word', '\\B': 'not_word' };

/** An escape that stands for one character: a class, a control character, or a mark taken as itself. */
const CHAR_ESCAPE = /^\\(?:[dDwWsStnrfv]|[^a-zA-Z0-9])/;
const CLASS = /^\[(?:\\.|[^\]\\])*\]/s;
const QUANTIFIER = /^(?:([*+?])|\{(\d{1,6})(?:(,)(\d{1,6})?)?\})\??/;

/**
 * Reads JavaScript's syntax of regular expressions, without the flag `u`; greed is of no interest, groups are not kept.
 *
 * @returns undefined for what is no regular expression, or has references, lookarounds or character codes
 */
export function parsePattern(source: string): PatternNode | undefined {
  if (!isValid(source)) return undefined;
  const reader: Reader = { rest: source, supported: true };
  const node = readChoice(reader);
  return reader.supported && reader.rest === '' ? node : undefined;
}

function isValid(source: string): boolean {
  try {
    new RegExp(source, 'i');
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

interface Reader {
  rest: string;
  /** False once something was met that needs going back. */
  supported: boolean;
}

function take(reader: Reader, length: number): string {
  const taken = reader.rest.slice(0, length);
  reader.rest = reader.rest.slice(length);
  return taken;
}

function readChoice(reader: Reader): PatternNode {
  const of = [readSequence(reader)];
  while (reader.rest.startsWith('|')) {
    take(reader, 1);
    of.push(readSequence(reader));
  }
  const [only] = of;
  return of.length === 1 && only !== undefined ? only : { kind: 'choice', of };
}

function readSequence(reader: Reader): PatternNode {
  const parts: PatternNode[] = [];
  while (reader.supported && reader.rest !== '' && !/^[|)]/.test(reader.rest)) {
    parts.push(quantified(readAtom(reader), reader));
  }
  return { kind: 'sequence', parts };
}

function quantified(node: PatternNode, reader: Reader): PatternNode {
  const found = QUANTIFIER.exec(reader.rest);
  if (found === null) return node;
  const [all, sign, from, comma, to] = found;
  take(reader, all.length);
  if (sign !== undefined) {
    return { kind: 'repeat', node, min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Infinity };
  }
  const min = Number(from);
  const open = comma === undefined ? min : Infinity;
  return { kind: 'repeat', node, min, max: to === undefined ? open : Number(to) };
}

function readAtom(reader: Reader): PatternNode {
  if (reader.rest.startsWith('(')) return readGroup(reader);
  const edge = ['^', '$', '\\b', '\\B'].find((sign) => reader.rest.startsWith(sign));
  if (edge !== undefined) return { kind: 'edge', edge: edges[take(reader, edge.length)] ?? 'start' };
  const kind = (CLASS.exec(reader.rest) ?? CHAR_ESCAPE.exec(reader.rest))?.[0];
  if (kind !== undefined) return ofKind(take(reader, kind.length));
  if (/^[[\\]/.test(reader.rest)) reader.supported = false;
  const char = take(reader, 1);
  return char === '.' ? ofKind('.') : { kind: 'char', fits: (other) => lower(other) === lower(char) };
}

const lower = (char: string): string => char.toLowerCase();

/** One character of a class; a single character cannot make a class go back. */
function ofKind(source: string): PatternNode {
  const one = new RegExp(`^${source}$`, 'i');
  return { kind: 'char', fits: (char) => one.test(char) };
}

function readGroup(reader: Reader): PatternNode {
  const opening = /^\((?:\?:|\?<[A-Za-z_$][\w$]*>|(?!\?))/.exec(reader.rest)?.[0];
  if (opening === undefined) {
    reader.supported = false;
    return { kind: 'sequence', parts: [] };
  }
  take(reader, opening.length);
  const node = readChoice(reader);
  take(reader, 1);
  return node;
}

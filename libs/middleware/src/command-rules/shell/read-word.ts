import { ansiText } from './ansi-text.js';
import { Cursor, type Substitution, type Token, type Word } from './words.js';

/** A word under construction. */
interface Draft {
  text: string;
  quoted: boolean;
  assigns?: string;
  readonly substitutions: Substitution[];
}

const ENDS_WORD = new Set([' ', '\t', '\n', '\r', ';', '&', '|', '<', '>', '(', ')']);
const VARIABLE = /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?$/;

/** Reads the word that starts at the cursor. */
export function readWord(cursor: Cursor): Word {
  const draft: Draft = { text: '', quoted: false, substitutions: [] };
  while (!cursor.isAtEnd && readPiece(cursor, draft));
  return draft;
}

/** Reads a character, quotation or expansion; false at the word's end. */
function readPiece(cursor: Cursor, draft: Draft): boolean {
  const { char } = cursor;
  if (ENDS_WORD.has(char)) return readMeta(cursor, draft);
  if (char === '\\') readEscaped(cursor, draft);
  else if (char === "'") readSingleQuoted(cursor, draft);
  else if (char === '"') readDoubleQuoted(cursor, draft);
  else if (char === '$') readDollar(cursor, draft);
  else if (char === '`') readBackticks(cursor, draft);
  else {
    if (char === '=' && draft.assigns === undefined && !draft.quoted && VARIABLE.test(draft.text))
      draft.assigns = draft.text.replace(/\W.*$/s, '');
    draft.text += char;
    cursor.at += 1;
  }
  return true;
}

function readEscaped(cursor: Cursor, draft: Draft): void {
  const { char, next } = cursor;
  cursor.at += 2;
  if (next === '\n') return;
  draft.quoted = true;
  draft.text += next === '' ? char : next;
}

/** Reads constructs that continue a word although their first character normally ends it. */
function readMeta(cursor: Cursor, draft: Draft): boolean {
  const { char, next, at } = cursor;
  if ((char === '<' || char === '>') && next === '(') {
    cursor.at += 2;
    draft.substitutions.push({ kind: char === '<' ? 'input' : 'sink', tokens: inner(cursor) });
    draft.text += cursor.text.slice(at, cursor.at);
    return true;
  }
  if (char !== '(' || draft.assigns === undefined || !draft.text.endsWith('=')) return false;
  cursor.at += 1;
  for (const token of inner(cursor)) if (token.kind === 'word') draft.substitutions.push(...token.word.substitutions);
  draft.text += cursor.text.slice(at, cursor.at);
  return true;
}

/** Reads the commands up to their closing bracket. */
function inner(cursor: Cursor): readonly Token[] {
  cursor.depth += 1;
  cursor.reading.charge(0, cursor.depth);
  const tokens = cursor.reading.readScript(cursor, { inBrackets: true });
  cursor.depth -= 1;
  return tokens;
}

function readSingleQuoted(cursor: Cursor, draft: Draft): void {
  const end = cursor.text.indexOf("'", cursor.at + 1);
  draft.quoted = true;
  draft.text += cursor.text.slice(cursor.at + 1, end === -1 ? undefined : end);
  if (end === -1) cursor.reading.incomplete = true;
  cursor.at = end === -1 ? cursor.text.length : end + 1;
}

function readDoubleQuoted(cursor: Cursor, draft: Draft): void {
  draft.quoted = true;
  cursor.at += 1;
  readExpanding(cursor, draft, '"');
}

/** Reads text in which only expansions and backslashes are special, up to `end` or the end of the text. */
function readExpanding(cursor: Cursor, draft: Draft, end: '"' | '}' | ''): void {
  while (!cursor.isAtEnd) {
    const { char } = cursor;
    if (char === end) {
      cursor.at += 1;
      return;
    }
    if (char === '\\') readHalfEscaped(cursor, draft);
    else if (char === '$') readExpansion(cursor, draft);
    else if (char === '`') readBackticks(cursor, draft);
    else if (end === '}' && char === '"') readDoubleQuoted(cursor, draft);
    else if (end === '}' && char === "'") readSingleQuoted(cursor, draft);
    else {
      draft.text += char;
      cursor.at += 1;
    }
  }
  if (end !== '') cursor.reading.incomplete = true;
}

/** In double quotes a backslash is literal before most characters. */
function readHalfEscaped(cursor: Cursor, draft: Draft): void {
  const { char, next } = cursor;
  if (next !== '\n') draft.text += '$`"\\'.includes(next) ? next : char + next;
  cursor.at += 2;
}

/** The body of a here-document, or an arithmetic expression, as a word. */
export function expandingWord(text: string, { reading, depth }: Cursor): Word {
  const draft: Draft = { text: '', quoted: true, substitutions: [] };
  readExpanding(new Cursor(text, reading, depth + 1), draft, '');
  return { ...draft, text };
}

/** A dollar outside quotes, where it can begin a quotation of its own. */
function readDollar(cursor: Cursor, draft: Draft): void {
  const { next } = cursor;
  if (next === "'") {
    cursor.at += 1;
    const quoted = cursor.match(/'(?:[^'\\]|\\.)*'/sy);
    draft.quoted = true;
    if (quoted === undefined) readSingleQuoted(cursor, draft);
    else draft.text += ansiText(quoted.slice(1, -1));
    return;
  }
  if (next === '"') cursor.at += 1;
  else readExpansion(cursor, draft);
}

function readExpansion(cursor: Cursor, draft: Draft): void {
  const { at, next } = cursor;
  if (next === '(') readCommandOrArithmetic(cursor, draft);
  else if (next === '{') {
    cursor.at += 2;
    const held: Draft = { text: '', quoted: false, substitutions: draft.substitutions };
    cursor.depth += 1;
    cursor.reading.charge(0, cursor.depth);
    readExpanding(cursor, held, '}');
    cursor.depth -= 1;
  } else {
    cursor.at += 1;
    cursor.match(/[A-Za-z_]\w*|[0-9@*#?$!-]/y);
  }
  const written = cursor.text.slice(at, cursor.at);
  draft.text += written === '$HOME' || written === '${HOME}' ? '~' : written;
}

function readCommandOrArithmetic(cursor: Cursor, draft: Draft): void {
  const start = cursor.at;
  cursor.at += 1;
  const arithmetic = readArithmetic(cursor);
  if (arithmetic !== undefined) {
    draft.substitutions.push(...arithmetic.substitutions);
    return;
  }
  cursor.at = start + 2;
  draft.substitutions.push({ kind: 'output', tokens: inner(cursor) });
}

/** Reads `((…))` at the cursor; undefined when the brackets enclose commands. */
export function readArithmetic(cursor: Cursor): Word | undefined {
  const { text, at } = cursor;
  if (!text.startsWith('((', at)) return undefined;
  let open = 0;
  let end = at + 2;
  for (; end < text.length; end += 1) {
    if (text[end] === '(') open += 1;
    else if (text[end] === ')' && open-- === 0) break;
  }
  cursor.reading.charge(end - at, cursor.depth);
  if (!text.startsWith('))', end)) return undefined;
  cursor.at = end + 2;
  const word = expandingWord(text.slice(at + 2, end), cursor);
  return { ...word, text: text.slice(at, cursor.at) };
}

function readBackticks(cursor: Cursor, draft: Draft): void {
  const { at } = cursor;
  let content = '';
  cursor.at += 1;
  while (!cursor.isAtEnd && cursor.char !== '`') {
    const escaped = cursor.char === '\\' && '$`\\'.includes(cursor.next) && cursor.next !== '';
    content += escaped ? cursor.next : cursor.char;
    cursor.at += escaped ? 2 : 1;
  }
  if (cursor.isAtEnd) cursor.reading.incomplete = true;
  cursor.at += 1;
  const script = new Cursor(content, cursor.reading, cursor.depth + 1);
  draft.substitutions.push({ kind: 'output', tokens: cursor.reading.readScript(script, { inBrackets: false }) });
  draft.text += cursor.text.slice(at, cursor.at);
}

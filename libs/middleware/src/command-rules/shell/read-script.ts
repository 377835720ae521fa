import { expandingWord, readArithmetic, readWord } from './read-word.js';
import { Cursor, Reading, type Redirect, type Token, type Word } from './words.js';

const OPERATORS = [';;&', ';;', ';&', '&&', '||', '|&', ';', '&', '|', '(', ')'];
const REDIRECTS = ['<<<', '<<-', '<<', '<>', '<&', '>>', '>|', '>&', '&>>', '&>', '<', '>'];
/** Unquoted words after which a command begins. */
const BEFORE_COMMAND = new Set(['if', 'then', 'elif', 'else', 'while', 'until', 'do', '{', '!', 'time']);

/** A here-document whose body follows the current line. */
interface Awaited {
  readonly index: number;
  readonly redirect: Redirect;
}

/** State of the tokenizer. */
interface Script {
  readonly cursor: Cursor;
  readonly tokens: Token[];
  readonly awaited: Awaited[];
  /** Open constructs that end with a bracket: a subshell, or the pattern of a case. */
  readonly open: ('bracket' | 'case')[];
}

/** Creates the parser state of one command, for `tokensOf`. */
export const createReading = (): Reading => new Reading(readScript);

/** The tokens of a text. @throws {NestingError} */
export const tokensOf = (text: string, reading: Reading, depth = 0): readonly Token[] =>
  readScript(new Cursor(text, reading, depth), { inBrackets: false });

function readScript(cursor: Cursor, { inBrackets }: { readonly inBrackets: boolean }): readonly Token[] {
  const script: Script = { cursor, tokens: [], awaited: [], open: [] };
  for (;;) {
    cursor.match(/(?:[ \t\r]|\\\n)+/y);
    if (cursor.isAtEnd) {
      if (inBrackets) cursor.reading.incomplete = true;
      return script.tokens;
    }
    if (cursor.char === ')' && inBrackets && script.open.length === 0) {
      cursor.at += 1;
      return script.tokens;
    }
    readToken(script);
  }
}

function readToken(script: Script): void {
  const { cursor, tokens } = script;
  if (cursor.char === '#') cursor.match(/[^\n]*/y);
  else if (cursor.char === '\n') {
    cursor.at += 1;
    tokens.push({ kind: 'operator', text: '\n' });
    readBodies(script);
  } else if (isRedirect(cursor)) readRedirect(script);
  else {
    const arithmetic = cursor.char === '(' && beginsCommand(tokens, 'for') ? readArithmetic(cursor) : undefined;
    if (arithmetic !== undefined) tokens.push({ kind: 'word', word: arithmetic });
    else readOperatorOrWord(script);
  }
}

/** A file descriptor: a number or a name in braces right before a redirect. */
const DESCRIPTOR = /(?:\d+|\{\w+\})(?=[<>])/y;

function isRedirect(cursor: Cursor): boolean {
  const before = cursor.at;
  if (cursor.match(DESCRIPTOR) !== undefined) {
    if (cursor.next !== '(') return true;
    cursor.at = before;
    return false;
  }
  if (cursor.char === '&') return cursor.next === '>';
  return (cursor.char === '<' || cursor.char === '>') && cursor.next !== '(';
}

function readRedirect({ cursor, tokens, awaited }: Script): void {
  const operator = cursor.take(REDIRECTS) ?? '';
  cursor.match(/(?:[ \t]|\\\n)+/y);
  const redirect: Redirect = { kind: 'redirect', operator, target: readWord(cursor) };
  if (operator === '<<' || operator === '<<-') awaited.push({ index: tokens.length, redirect });
  tokens.push(redirect);
}

function readOperatorOrWord({ cursor, tokens, open }: Script): void {
  const operator = cursor.take(OPERATORS);
  if (operator === undefined) {
    const atStart = beginsCommand(tokens);
    const word = readWord(cursor);
    tokens.push({ kind: 'word', word });
    if (atStart && isPlain(word, 'case')) open.push('case');
    else if (atStart && isPlain(word, 'esac') && open.at(-1) === 'case') open.pop();
    return;
  }
  if (operator === '(') open.push('bracket');
  else if (operator === ')' && open.at(-1) === 'bracket') open.pop();
  tokens.push({ kind: 'operator', text: operator });
}

const isPlain = (word: Word, text: string): boolean => !word.quoted && word.text === text;

/** Whether a command may begin after the tokens, or after the word `also`. */
function beginsCommand(tokens: readonly Token[], also?: string): boolean {
  const last = tokens.at(-1);
  if (last === undefined || last.kind === 'operator') return true;
  if (last.kind !== 'word' || last.word.quoted) return false;
  return BEFORE_COMMAND.has(last.word.text) || last.word.text === also;
}

/** Reads the bodies of the here-documents of the line that just ended. */
function readBodies({ cursor, tokens, awaited }: Script): void {
  for (const { index, redirect } of awaited.splice(0)) {
    const lines: string[] = [];
    while (!cursor.isAtEnd) {
      const line = cursor.match(/[^\n]*\n?/y) ?? '';
      const bare = line.replace(/\r?\n$/, '');
      if ((redirect.operator === '<<-' ? bare.replace(/^\t+/, '') : bare) === redirect.target.text) break;
      lines.push(line);
    }
    const text = lines.join('');
    const body = redirect.target.quoted ? { text, quoted: true, substitutions: [] } : expandingWord(text, cursor);
    tokens[index] = { ...redirect, body };
  }
}

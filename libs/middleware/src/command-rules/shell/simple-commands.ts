import { omitUndefined } from '@caribou/contracts';
import type { Redirect, Token, Word } from './words.js';

/** One command of a script with its context. */
export interface SimpleCommand {
  /** The command and its arguments. */
  readonly words: readonly Word[];
  /** Assignments before it, or instead of it. */
  readonly assignments: readonly Word[];
  readonly redirects: readonly Redirect[];
  readonly pipedFrom: boolean;
  readonly pipedInto: boolean;
  /** Whether it starts itself in a pipe, or is started in the background of an endless loop. */
  readonly forkBomb: boolean;
}

interface Frame {
  readonly kind: 'group' | 'loop' | 'case';
  /** Whether its input comes from a pipe. */
  readonly piped: boolean;
  readonly functionName?: string;
  /** Commands that make the loop endless; undefined once its head was read. */
  endlessBy?: readonly string[];
  endless: boolean;
}

type Expected = 'command' | 'pattern' | 'header' | 'function-name' | 'test';

const HEADERS = new Set(['for', 'select', 'case']);
/** `-p` is an option of `time`, after which any command may begin. */
const IGNORED = new Set(['if', 'then', 'elif', 'else', 'fi', 'do', '!', 'time', '-p', 'coproc']);
const PIPES = new Set(['|', '|&']);
const ENDS_CASE = new Set([';;', ';&', ';;&']);
const JOINS_TESTS = new Set(['&&', '||', '|', '(', ')']);
const ENDLESS: Readonly<Record<string, readonly string[]>> = { while: ['true', ':'], until: ['false'] };

/**
 * The commands of a script in order, including those in groups, loops and functions, but not those in substitutions.
 */
export function simpleCommands(tokens: readonly Token[]): readonly SimpleCommand[] {
  const walk = new Walk();
  for (const token of tokens) walk.take(token);
  walk.end('');
  return walk.commands;
}

/** Walks over the tokens of a script, knowing where a command may begin. */
class Walk {
  readonly commands: SimpleCommand[] = [];
  private readonly frames: Frame[] = [];
  private words: Word[] = [];
  private assignments: Word[] = [];
  private redirects: Redirect[] = [];
  private expected: Expected = 'command';
  private piped = false;
  private functionName: string | undefined;

  take(token: Token): void {
    if (token.kind === 'redirect') this.takeRedirect(token);
    else if (token.kind === 'operator') this.takeOperator(token.text);
    else this.takeWord(token.word);
  }

  /** Adds a redirection, except in a test, where these operators compare. */
  private takeRedirect(redirect: Redirect): void {
    if (this.expected === 'test') this.words.push(redirect.target);
    else this.redirects.push(redirect);
  }

  private takeOperator(text: string): void {
    if (this.expected === 'test' && JOINS_TESTS.has(text)) {
      this.words.push({ text, quoted: true, substitutions: [] });
    } else if (this.expected === 'pattern') {
      if (text === ')') this.expected = 'command';
    } else if (text === '(' && this.beginsFunction()) {
      this.functionName = this.words[0]?.text ?? this.functionName;
      this.words = [];
      this.expected = 'pattern';
    } else if (text !== '\n' || !this.inCaseHeader()) this.takeEnd(text);
  }

  private inCaseHeader(): boolean {
    return this.expected === 'header' && this.frames.at(-1)?.kind === 'case';
  }

  /** Handles an operator after a command, or one that opens or closes a group. */
  private takeEnd(text: string): void {
    this.end(text);
    this.expected = ENDS_CASE.has(text) ? 'pattern' : 'command';
    if (text === '(') this.push('group');
    else if (text === ')') this.pop('group');
    if (text !== '\n' && text !== '(') this.piped = PIPES.has(text);
  }

  /** Whether a bracket here is the empty one of `name ()`. */
  private beginsFunction(): boolean {
    if (this.words.length === 0) return this.functionName !== undefined;
    return this.words.length === 1 && this.assignments.length === 0;
  }

  private takeWord(word: Word): void {
    const atStart = this.words.length === 0 && this.assignments.length === 0;
    if (this.expected === 'function-name') {
      this.functionName = word.text;
      this.expected = 'command';
    } else if (this.expected === 'header') this.takeHeaderWord(word);
    else if (this.expected === 'pattern') {
      if (!word.quoted && word.text === 'esac') this.pop('case');
    } else if (!atStart || word.quoted || !this.takeReserved(word)) this.takePlainWord(word);
  }

  private takePlainWord(word: Word): void {
    if (this.words.length === 0 && word.assigns !== undefined) {
      this.assignments.push(word);
      return;
    }
    if (this.words.length === 0 && word.text === '[[') this.expected = 'test';
    if (this.expected === 'test' && word.text === ']]') this.expected = 'command';
    this.words.push(word);
  }

  /** Handles words of `for x in …` and `case … in`, whose substitutions are collected in a command without a name. */
  private takeHeaderWord(word: Word): void {
    const frame = this.frames.at(-1);
    const [begins, next] = frame?.kind === 'case' ? ['in', 'pattern' as const] : ['do', 'command' as const];
    if (word.text === begins && this.assignments.length > 0) {
      this.end('');
      this.expected = next;
      return;
    }
    if (frame !== undefined && hasNoCondition(word.text)) frame.endless = true;
    this.assignments.push({ text: '', quoted: true, substitutions: word.substitutions });
  }

  /** Whether a word at the beginning of a command is a reserved word of the shell. */
  private takeReserved({ text }: Word): boolean {
    if (text === '{') this.push('group');
    else if (text === '}') this.pop('group');
    else if (text in ENDLESS) this.push('loop', ENDLESS[text]);
    else if (HEADERS.has(text)) {
      this.push(text === 'case' ? 'case' : 'loop');
      this.expected = 'header';
    } else if (text === 'done') this.pop('loop');
    else if (text === 'esac') this.pop('case');
    else if (text === 'function') this.expected = 'function-name';
    else return IGNORED.has(text);
    return true;
  }

  private push(kind: Frame['kind'], endlessBy?: readonly string[]): void {
    const piped = kind === 'group' && (this.piped || this.inPipedGroup());
    const named = omitUndefined({ functionName: this.functionName });
    this.frames.push({ kind, piped, endless: false, ...named, ...omitUndefined({ endlessBy }) });
    this.functionName = undefined;
    this.piped = false;
  }

  private pop(kind: Frame['kind']): void {
    if (this.frames.at(-1)?.kind === kind) this.frames.pop();
    this.expected = 'command';
  }

  private inPipedGroup(): boolean {
    return this.frames.at(-1)?.kind === 'group' && this.frames.at(-1)?.piped === true;
  }

  /** Ends the current command; `operator` is the operator after it. */
  end(operator: string): void {
    const { words, assignments, redirects } = this;
    const inBackground = operator === '&' && this.frames.some(({ endless }) => endless);
    if (words.length + assignments.length + redirects.length === 0) {
      if (inBackground) this.commands.push(...this.commands.splice(-1).map((last) => ({ ...last, forkBomb: true })));
      return;
    }
    const name = words[0]?.text ?? '';
    const pipedFrom = this.piped || this.inPipedGroup();
    const forkBomb = inBackground || (pipedFrom && this.callsItselfTwice(name));
    this.commands.push({ words, assignments, redirects, pipedFrom, pipedInto: PIPES.has(operator), forkBomb });
    this.endHead(name);
    [this.words, this.assignments, this.redirects] = [[], [], []];
    this.piped = false;
  }

  /** Whether a function pipes itself into itself. */
  private callsItselfTwice(name: string): boolean {
    const inItself = this.frames.some(({ functionName }) => functionName === name);
    return inItself && this.commands.at(-1)?.words[0]?.text === name;
  }

  /** The first command of a loop decides whether it ends. */
  private endHead(name: string): void {
    const frame = this.frames.at(-1);
    if (frame?.endlessBy === undefined) return;
    frame.endless = frame.endlessBy.includes(name) || (name === '((1))' && frame.endlessBy.includes('true'));
    delete frame.endlessBy;
  }
}

/** `for ((…; ; …))` without a condition is endless. */
const hasNoCondition = (header: string): boolean =>
  header.startsWith('((') && header.split(';').length === 3 && header.split(';')[1]?.trim() === '';

import { createReading, tokensOf } from './read-script.js';
import { type SimpleCommand, simpleCommands } from './simple-commands.js';
import { NestingError, type Reading, type Substitution, type Token, type Word } from './words.js';

/**
 * A command that runs another one: its options that take a value, and the number of arguments before the other command.
 */
interface Prefix {
  readonly valued?: string;
  readonly operands?: number;
}

const PREFIXES = new Map<string, Prefix>([
  ['env', { valued: 'uC' }],
  ['command', {}],
  ['builtin', {}],
  ['exec', { valued: 'a' }],
  ['nohup', {}],
  ['time', { valued: 'fo' }],
  ['sudo', { valued: 'ugpChrtTUDR' }],
  ['doas', { valued: 'uC' }],
  ['nice', { valued: 'n' }],
  ['timeout', { valued: 'ks', operands: 1 }],
  ['setsid', {}],
  ['stdbuf', { valued: 'ioe' }],
  ['xargs', { valued: 'aEILnPsd' }],
  ['busybox', {}],
]);
/** Longer chains of commands that run another one have no legitimate use. */
const MAX_PREFIXES = 16;
const SHELLS = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash']);
const FIND_ACTIONS = new Set(['-exec', '-execdir', '-ok', '-okdir']);

/** Name of the command without its directory; undefined for a mere assignment or redirection. */
export const nameOf = ({ words }: SimpleCommand): string | undefined => words[0]?.text.replace(/^.*\//s, '');

/** All commands that a text executes, as far as it can be determined without executing it. */
export interface RunCommands {
  /** The commands of the text, of its substitutions, after prefixes such as `env`, and of text passed to a shell. */
  readonly commands: readonly SimpleCommand[];
  /** False when a quote or a similar construct is not closed. */
  readonly complete: boolean;
}

/** @throws {NestingError} for a text that is too complex */
export function commandsIn(text: string): RunCommands {
  const reading = createReading();
  const found: SimpleCommand[] = [];
  collect(tokensOf(text, reading), { reading, depth: 0, found });
  const complete = !reading.incomplete;
  // An unclosed text is parsed again as if nothing were quoted, as the missing end could be anywhere.
  if (!complete) collect(tokensOf(text.replace(/["'`\\]/g, ' '), reading), { reading, depth: 0, found });
  return { commands: found, complete };
}

interface Collection {
  readonly reading: Reading;
  readonly depth: number;
  readonly found: SimpleCommand[];
}

function collect(tokens: readonly Token[], into: Collection): void {
  for (const command of simpleCommands(tokens)) {
    for (const { tokens: inner } of substitutionsOf(command)) collect(inner, into);
    for (const run of withInner(command)) {
      into.found.push(run);
      const depth = into.depth + 1;
      for (const text of scriptsOf(run)) collect(tokensOf(text, into.reading, depth), { ...into, depth });
    }
  }
}

function substitutionsOf({ words, assignments, redirects }: SimpleCommand): readonly Substitution[] {
  const targets = redirects.flatMap(({ target, body }) => (body === undefined ? [target] : [body]));
  return [...assignments, ...words, ...targets].flatMap(({ substitutions }) => substitutions);
}

/** The names of a substitution's first command and of the commands that it runs. */
export function firstNames({ tokens }: Substitution): readonly string[] {
  const first = simpleCommands(tokens)[0];
  return first === undefined ? [] : withInner(first).flatMap((command) => nameOf(command) ?? []);
}

/** The command, the one it runs, the one that this runs, and so on. */
function withInner(command: SimpleCommand): readonly SimpleCommand[] {
  const chain = [command];
  for (let inner = innerOf(command); inner !== undefined; inner = innerOf(inner)) {
    if (chain.length > MAX_PREFIXES) throw new NestingError();
    chain.push(inner);
  }
  return chain;
}

function innerOf(command: SimpleCommand): SimpleCommand | undefined {
  const name = nameOf(command) ?? '';
  if (name === 'find') return within(command, findAction(command.words));
  const prefix = PREFIXES.get(name);
  if (prefix === undefined) return undefined;
  if (name === 'command' && /^-[vVp]*[vV]/.test(command.words[1]?.text ?? '')) return undefined;
  return within(command, afterPrefix(command.words, prefix));
}

const within = (command: SimpleCommand, words: readonly Word[]): SimpleCommand | undefined =>
  words.length === 0 ? undefined : { ...command, words, assignments: [] };

function afterPrefix(words: readonly Word[], { valued = '', operands = 0 }: Prefix): readonly Word[] {
  let at = 1;
  for (; at < words.length; at += 1) {
    const word = words[at];
    if (word === undefined || (!word.text.startsWith('-') && word.assigns === undefined)) break;
    if (/^-[A-Za-z]$/.test(word.text) && valued.includes(word.text.charAt(1))) at += 1;
  }
  return words.slice(at + operands);
}

function findAction(words: readonly Word[]): readonly Word[] {
  const at = words.findIndex(({ text }) => FIND_ACTIONS.has(text));
  if (at === -1) return [];
  const rest = words.slice(at + 1);
  const end = rest.findIndex(({ text }) => text === ';' || text === '+');
  return end === -1 ? rest : rest.slice(0, end);
}

/** Texts that the command passes to a shell as scripts. */
function scriptsOf(command: SimpleCommand): readonly string[] {
  const name = nameOf(command) ?? '';
  const args = command.words.slice(1).map(({ text }) => text);
  if (name === 'eval') return [args.join(' ')];
  if (name === 'trap') return args.slice(0, 1);
  if (name !== 'su' && !SHELLS.has(name)) return [];
  const flag = args.findIndex((text) => /^-[A-Za-z]*c[A-Za-z]*$/.test(text));
  if (flag !== -1)
    return args
      .slice(flag + 1)
      .filter((text) => !text.startsWith('-'))
      .slice(0, 1);
  if (args.some((text) => !text.startsWith('-'))) return [];
  return command.redirects.flatMap(
    ({ operator, target, body }) => body?.text ?? (operator === '<<<' ? target.text : []),
  );
}

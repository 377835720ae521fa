import { posix } from 'node:path';
import type { CommandAudit, CommandMatch, CommandRule, CommandVerdict } from '@caribou/contracts';
import { commandsIn, firstNames, nameOf } from './shell/nested-commands.js';
import type { SimpleCommand } from './shell/simple-commands.js';
import { matchesWildcard } from './wildcard.js';
import { NestingError, type Substitution, type Word } from './shell/words.js';

export interface CommandPolicy {
  /** Longer commands are blocked. */
  readonly maxChars: number;
  readonly rules: readonly CommandRule[];
}

/** The verdict on a command and its reasons. */
export interface AuditedCommand extends CommandAudit {
  /** Messages of the deciding rules; empty when the command passes. */
  readonly reasons: readonly string[];
}

const SEVERITY: Readonly<Record<CommandVerdict, number>> = { pass: 0, warn: 1, ask: 2, block: 3 };

const blockCommand = (id: string, reason: string): AuditedCommand => ({
  verdict: 'block',
  rules: [id],
  reasons: [reason],
});

/**
 * Checks a shell command against the rules. Rules apply to commands wherever they would be executed, also after
 * prefixes, in substitutions and in text passed to a shell; not to quoted arguments, comments or here-documents.
 */
export function auditCommand(command: string, { maxChars, rules }: CommandPolicy): AuditedCommand {
  if (command.trim() === '') return blockCommand('input-empty', 'empty command');
  if (command.length > maxChars) return blockCommand('input-too-long', 'command too long');
  if (command.includes('\0')) return blockCommand('input-null-byte', 'null byte detected');
  try {
    const { commands } = commandsIn(command);
    return combineMatches(rules.filter(({ match }) => commands.some((run) => fits(match, run))));
  } catch (error) {
    if (error instanceof NestingError) return blockCommand('input-nesting', 'command nested too deeply');
    throw error;
  }
}

function combineMatches(matched: readonly CommandRule[]): AuditedCommand {
  const verdict = matched.reduce<CommandVerdict>(
    (worst, rule) => (SEVERITY[rule.verdict] > SEVERITY[worst] ? rule.verdict : worst),
    'pass',
  );
  const deciding = verdict === 'pass' ? [] : matched.filter((rule) => rule.verdict === verdict);
  const reasons = [...new Set(deciding.map(({ message }) => message))];
  return { verdict, rules: matched.map(({ id }) => id), reasons };
}

const OUTPUT = new Set(['>', '>>', '>|', '>&', '&>', '&>>', '<>']);
const DECLARES = new Set(['export', 'declare', 'typeset', 'readonly', 'local', 'env', 'sudo', 'doas']);

/** A condition of a rule; it holds when the rule does not set it. */
type Condition = (match: CommandMatch, command: SimpleCommand) => boolean;

const ifGiven = (wanted: readonly string[] | undefined, holds: (wanted: readonly string[]) => boolean): boolean =>
  wanted === undefined || holds(wanted);

const conditions: readonly Condition[] = [
  ({ commands }, command) => ifGiven(commands, (wanted) => anyFits(wanted, nameOf(command))),
  ({ except }, command) => ifGiven(except, (unwanted) => !anyFits(unwanted, nameOf(command))),
  ({ piped_from }, { pipedFrom }) => piped_from === undefined || pipedFrom,
  ({ piped_into }, { pipedInto }) => piped_into === undefined || pipedInto,
  ({ fork_bomb }, { forkBomb }) => fork_bomb === undefined || forkBomb,
  ({ subcommand }, { words }) =>
    ifGiven(subcommand, (wanted) => anyFits(wanted, words.slice(1).find(({ text }) => !text.startsWith('-'))?.text)),
  ({ flags }, { words }) => ifGiven(flags, (wanted) => flagsOf(words).some((flag) => wanted.includes(flag))),
  (match, { words }) => ifGiven(match.arguments, (wanted) => words.slice(1).some((word) => wordFits(wanted, word))),
  ({ files }, { words, redirects }) =>
    ifGiven(files, (wanted) =>
      [...words.slice(1), ...redirects.flatMap(fileOf)].some((word) => wordFits(wanted, word)),
    ),
  ({ writes }, { redirects }) =>
    ifGiven(writes, (wanted) =>
      redirects.some(({ operator, target }) => OUTPUT.has(operator) && wordFits(wanted, target)),
    ),
  ({ assigns }, command) => ifGiven(assigns, (wanted) => assignmentsOf(command).some((name) => anyFits(wanted, name))),
  ({ command_from }, { words }) => ifGiven(command_from, (wanted) => isOutputOf(wanted, words[0])),
  ({ argument_from }, { words }) =>
    ifGiven(argument_from, (wanted) => words.slice(1).some((word) => comesFrom(wanted, word.substitutions))),
  ({ input_from }, command) => ifGiven(input_from, (wanted) => comesFrom(wanted, inputsOf(command))),
];

/** Whether all conditions of the rule hold. */
const fits = (match: CommandMatch, command: SimpleCommand): boolean =>
  conditions.every((condition) => condition(match, command));

/** Whether the word begins with such output; output inside a path does not make it the command. */
const isOutputOf = (wanted: readonly string[], word: Word | undefined): boolean =>
  word !== undefined && /^(?:\$\(|`)/.test(word.text) && comesFrom(wanted, word.substitutions);

function inputsOf({ words, redirects }: SimpleCommand): readonly Substitution[] {
  const targets = redirects.flatMap(({ target, body }) => (body === undefined ? target.substitutions : []));
  return [...words.flatMap(({ substitutions }) => substitutions).filter(({ kind }) => kind === 'input'), ...targets];
}

const fileOf = ({ operator, target }: SimpleCommand['redirects'][number]): readonly Word[] =>
  operator.startsWith('<<') ? [] : [target];

const assignmentsOf = (command: SimpleCommand): readonly string[] =>
  [...command.assignments, ...(DECLARES.has(nameOf(command) ?? '') ? command.words : [])].flatMap(
    ({ assigns }) => assigns ?? [],
  );

const comesFrom = (wanted: readonly string[], substitutions: readonly Substitution[]): boolean =>
  substitutions.some((substitution) => firstNames(substitution).some((name) => anyFits(wanted, name)));

/** Letters of short options, names of long ones, up to `--`. */
function flagsOf(words: readonly Word[]): readonly string[] {
  const args = words.slice(1).map(({ text }) => text);
  const end = args.indexOf('--');
  return (end === -1 ? args : args.slice(0, end)).flatMap((text) => {
    if (text.startsWith('--')) return [text.slice(2).replace(/=.*$/s, '')];
    return text.startsWith('-') ? Array.from(text.slice(1)) : [];
  });
}

/** Compares the word, and its normalized form if it is a path. */
function wordFits(wanted: readonly string[], { text }: Word): boolean {
  if (anyFits(wanted, text)) return true;
  if (!text.startsWith('/') && !text.startsWith('~')) return false;
  const path = posix.normalize(text);
  return anyFits(wanted, path.length > 1 ? path.replace(/\/$/, '') : path);
}

const anyFits = (wanted: readonly string[], text: string | undefined): boolean =>
  text !== undefined && wanted.some((pattern) => matchesWildcard(pattern, text));

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withRareFunctions } from './rare-functions.js';

/** A Lua script with the hash by which Redis knows it. */
export interface Script {
  /** Its path below `libs/state/src` without the ending, such as `runs/admit`. */
  readonly name: string;
  readonly source: string;
  readonly sha1: string;
  /** Whether it may write; one that does not needs no right to write its keys. */
  readonly writes: boolean;
  /** Whether its reply has no stored texts, which may be binary. */
  readonly repliesPlainly: boolean;
}

const root = join(__dirname, '..');
const include = /^ *-- @include (\S+\.lua)$/gm;

/**
 * Reads `<name>.lua`, named by its path below `libs/state/src` such as `runs/admit`. A line `-- @include ../includes/clock.lua`
 * is replaced by the text of that file; a file is included once, where it is first named. Each call of a script makes the functions that
 * it defines: those that it never uses are left out, as are names of keys, and those that few calls need are included in the block of an `if`.
 */
export function loadScript(
  name: string,
  { repliesPlainly = false }: Partial<Pick<Script, 'repliesPlainly'>> = {},
): Script {
  const source = withBody(withRareFunctions(withoutUnused(expand(join(root, `${name}.lua`), new Set()))));
  const writes = !/^#!lua .*flags=\S*no-writes/.test(source);
  return { name, source, sha1: createHash('sha1').update(source).digest('hex'), writes, repliesPlainly };
}

const bodyMark = /^-- @body\n/m;

/**
 * A Lua script whose text after the line `-- @body`, if it has one, is a function. Lua searches a list of all variables that functions share
 * for each that a new function takes from the function around it, but none for what that has from further out, such as all of
 * `includes/thread.lua`: a script that defines a hundred functions takes some 10 µs less.
 */
function withBody(source: string): string {
  return bodyMark.test(source)
    ? `${source.replace(bodyMark, 'local function body()\n').trimEnd()}\nend\nreturn body()\n`
    : source;
}

/** The text of each file read so far: scripts share most of what they include. */
const texts = new Map<string, string>();

function textOf(path: string): string {
  const known = texts.get(path);
  if (known !== undefined) return known;
  const text = readFileSync(path, 'utf8');
  texts.set(path, text);
  return text;
}

function expand(path: string, seen: Set<string>): string {
  seen.add(path);
  return textOf(path).replace(include, (_line, named: string) => {
    const part = join(dirname(path), named);
    return seen.has(part) ? '' : expand(part, seen);
  });
}

/**
 * A Lua script without those of its functions, and names of keys, that nothing refers to. It has to be formatted as ours are: such a function
 * begins with `local function` at the start of a line, and ends in that line or with the next line that is not indented, `end`;
 * such a name is a line `local <name>_key = record_key .. '<ending>'`.
 */
export function withoutUnused(source: string): string {
  const code = source.replace(/--\[\[[^]*?\]\]|--.*$/gm, '');
  const defined = [...code.matchAll(/^local (?:function (\w+)|(\w+_key) = record_key \.\. '[^']*'$)/gm)];
  const unused = namedOnce(
    code,
    defined.map(([, name, key]) => name ?? key ?? ''),
  );
  if (unused.length === 0) return source;
  const names = `(?:${unused.join('|')})`;
  const definition = new RegExp(
    `^local (?:${names} = record_key .*\\n|function ${names}\\b(?:.*\\bend *(?:--.*)?\\n|.*\\n(?:(?: .*)?\\n)*end\\n))`,
    'gm',
  );
  const rest = source.replace(definition, '');
  return rest === source ? source : withoutUnused(rest);
}

/** Those of the names that the code has once. It is searched once for all of them: a service loads a thousand functions when it starts. */
function namedOnce(code: string, names: readonly string[]): readonly string[] {
  if (names.length === 0) return [];
  const counts = new Map<string, number>();
  for (const name of code.match(new RegExp(`\\b(?:${names.join('|')})\\b`, 'g')) ?? [])
    counts.set(name, (counts.get(name) ?? 0) + 1);
  return names.filter((name) => counts.get(name) === 1);
}

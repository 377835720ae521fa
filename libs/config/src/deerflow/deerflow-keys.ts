import { MemoryFile } from '../schema/chain-schema.js';
import { type Findings, isRecord } from '../common/findings.js';
import { tellForeign } from './foreign-keys.js';

type Fields = Readonly<Record<string, unknown>>;

/** `module.path:Name`, as DeerFlow names code of Python. */
export const isPythonPath = (use: string): boolean => /^[\w.]+:\w+$/.test(use);

/** A number of DeerFlow's that we have under another name or in another unit. */
interface Move {
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly as: (value: number) => number;
}

/** A switch that DeerFlow's documents name in another section than its code. */
const CLARIFICATION = ['guardrails', 'clarification'] as const;

const within = (value: number, min: number, max: number): number => Math.min(max, Math.max(min, Math.round(value)));

const moves: readonly Move[] = [
  { from: ['max_recursion_limit'], to: ['runner', 'max_turns_cap'], as: (turns) => within(turns, 1, 10_000) },
  {
    from: ['sandbox', 'idle_timeout'],
    to: ['sandbox', 'idle_ms'],
    // 0 is "never" there.
    as: (seconds) => within(seconds === 0 ? Infinity : 1_000 * seconds, 1_000, 604_800_000),
  },
  {
    from: ['sandbox', 'bash_command_timeout'],
    to: ['sandbox', 'limits', 'command_timeout_ms'],
    as: (seconds) => within(1_000 * seconds, 100, 3_600_000),
  },
];

/** Providers whose work our boxes do. */
const servedSandboxes = new Set(['LocalSandboxProvider', 'AioSandboxProvider']);

/**
 * The file with keys of DeerFlow that have a counterpart of another name or unit moved to it; where ours is set as well,
 * it wins. Code of Python is taken out, with a warning each.
 */
export function withOurKeys(file: Fields, findings: Findings): Fields {
  const moved = withClarification(moves.reduce(carriedOut, file));
  return {
    ...moved,
    ...changed(moved, 'sandbox', (section) => withoutProvider(section, findings)),
    ...changed(moved, 'memory', memoryKeys),
    ...changed(moved, 'extensions', (section) => withoutPython(section, findings)),
  };
}

function changed(file: Fields, key: string, change: (section: Fields) => Fields): Fields {
  const section = file[key];
  return isRecord(section) ? { [key]: change(section) } : {};
}

function carriedOut(file: Fields, { from, to, as }: Move): Fields {
  const value = valueAt(file, from);
  return typeof value === 'number' ? withDefault(without(file, from), to, as(value)) : file;
}

/** `guardrails.clarification`, a switch or a section with one, as `clarification.enabled`. */
function withClarification(file: Fields): Fields {
  const value = valueAt(file, CLARIFICATION);
  const enabled = isRecord(value) ? value['enabled'] : value;
  if (typeof enabled !== 'boolean') return file;
  const { guardrails, ...others } = without(file, CLARIFICATION);
  const isEmpty = isRecord(guardrails) && Object.keys(guardrails).length === 0;
  return withDefault(isEmpty ? others : { ...others, guardrails }, ['clarification', 'enabled'], enabled);
}

function valueAt(fields: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), fields);
}

function without(fields: Fields, [key = '', ...path]: readonly string[]): Fields {
  const { [key]: value, ...rest } = fields;
  return path.length === 0 || !isRecord(value) ? rest : { ...rest, [key]: without(value, path) };
}

/** The fields with `value` at the path, unless something stands there, or in its way. */
function withDefault(fields: Fields, [key = '', ...path]: readonly string[], value: number | boolean): Fields {
  const there = fields[key];
  if (path.length === 0) return { [key]: value, ...fields };
  if (there !== undefined && there !== null && !isRecord(there)) return fields;
  return { ...fields, [key]: withDefault(isRecord(there) ? there : {}, path, value) };
}

function withoutProvider(section: Fields, findings: Findings): Fields {
  const { use, image, ...rest } = section;
  if (use === undefined) return section;
  const known = typeof use === 'string' && servedSandboxes.has(use.slice(use.lastIndexOf(':') + 1));
  if (known) findings.notices.push('sandbox.use: not loaded: commands run in the boxes of sandbox.driver');
  else findings.warnings.push('sandbox.use: not loaded: there is no counterpart; sandbox.driver is docker or bwrap');
  if (image !== undefined) tellForeign('sandbox.image', image, findings);
  return rest;
}

/** Settings of DeerFlow's own memory lie one level deeper since it can be exchanged. */
function memoryKeys(section: Fields): Fields {
  const inner = section['backend_config'];
  if (!isRecord(inner)) return section;
  const known = Object.entries(inner).filter(([key]) => Object.hasOwn(MemoryFile.shape, key));
  return { ...Object.fromEntries(known), ...section };
}

function withoutPython(section: Fields, findings: Findings): Fields {
  const list = section['middlewares'];
  if (!Array.isArray(list)) return section;
  const middlewares: readonly unknown[] = list;
  return {
    ...section,
    middlewares: middlewares.filter((entry, index) => {
      if (typeof entry !== 'string' || !isPythonPath(entry)) return true;
      findings.warnings.push(pythonMiddleware(`extensions.middlewares[${index}]`, entry));
      return false;
    }),
  };
}

export const pythonMiddleware = (key: string, use: string): string =>
  `${key}: ${use} is Python and not loaded; write it as a module and name it in extensions.middlewares of config.yaml (docs/custom-middleware.md)`;

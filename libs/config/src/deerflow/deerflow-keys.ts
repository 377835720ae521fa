import { isRecord } from '@caribou/contracts';
import { MemoryFile } from '../schema/chain-schema.js';
import type { Findings } from '../common/findings.js';
import { warnAboutUnknownKey } from './unknown-keys.js';

type Fields = Readonly<Record<string, unknown>>;

/** Whether `use` is a Python reference such as `module.path:Name`. */
export const isPythonPath = (use: string): boolean => /^[\w.]+:\w+$/.test(use);

/** A numeric setting of DeerFlow that has another name or unit here. */
interface Move {
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly as: (value: number) => number;
}

/** The switch that DeerFlow's documentation puts into another section than its code. */
const CLARIFICATION = ['guardrails', 'clarification'] as const;

const clamp = (value: number, min: number, max: number): number => Math.min(max, Math.max(min, Math.round(value)));

const moves: readonly Move[] = [
  { from: ['max_recursion_limit'], to: ['runner', 'max_turns_cap'], as: (turns) => clamp(turns, 1, 10_000) },
  {
    from: ['sandbox', 'idle_timeout'],
    to: ['sandbox', 'idle_ms'],
    // In DeerFlow, 0 means "never".
    as: (seconds) => clamp(seconds === 0 ? Infinity : 1_000 * seconds, 1_000, 604_800_000),
  },
  {
    from: ['sandbox', 'bash_command_timeout'],
    to: ['sandbox', 'limits', 'command_timeout_ms'],
    as: (seconds) => clamp(1_000 * seconds, 100, 3_600_000),
  },
];

/** DeerFlow's sandbox providers that the sandboxes of this product replace. */
const replacedProviders = new Set(['LocalSandboxProvider', 'AioSandboxProvider']);

/**
 * Moves DeerFlow's keys to their counterparts of another name or unit, unless the counterpart is set as well. Removes
 * references to Python code, with one warning each.
 */
export function translateDeerFlowKeys(file: Fields, findings: Findings): Fields {
  const moved = withClarification(moves.reduce(applyMove, file));
  return {
    ...moved,
    ...changeSection(moved, 'sandbox', (section) => withoutProvider(section, findings)),
    ...changeSection(moved, 'memory', liftBackendConfig),
    ...changeSection(moved, 'extensions', (section) => withoutPython(section, findings)),
  };
}

function changeSection(file: Fields, key: string, change: (section: Fields) => Fields): Fields {
  const section = file[key];
  return isRecord(section) ? { [key]: change(section) } : {};
}

function applyMove(file: Fields, { from, to, as }: Move): Fields {
  const value = valueAt(file, from);
  return typeof value === 'number' ? withDefault(without(file, from), to, as(value)) : file;
}

/** Moves `guardrails.clarification`, a switch or a section with one, to `clarification.enabled`. */
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

/** Sets `value` at the path unless the path, or something on the way to it, has a value already. */
function withDefault(fields: Fields, [key = '', ...path]: readonly string[], value: number | boolean): Fields {
  const existing = fields[key];
  if (path.length === 0) return { [key]: value, ...fields };
  if (existing !== undefined && existing !== null && !isRecord(existing)) return fields;
  return { ...fields, [key]: withDefault(isRecord(existing) ? existing : {}, path, value) };
}

function withoutProvider(section: Fields, findings: Findings): Fields {
  const { use, image, ...rest } = section;
  if (use === undefined) return section;
  const known = typeof use === 'string' && replacedProviders.has(use.slice(use.lastIndexOf(':') + 1));
  if (known) findings.notices.push('sandbox.use: not loaded: commands run in the sandboxes of sandbox.driver');
  else findings.warnings.push('sandbox.use: not loaded: there is no counterpart; sandbox.driver is docker or bwrap');
  if (image !== undefined) warnAboutUnknownKey('sandbox.image', image, findings);
  return rest;
}

/** Moves the settings of DeerFlow's default memory backend, which newer versions nest in `backend_config`, up one level. */
function liftBackendConfig(section: Fields): Fields {
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
      findings.warnings.push(pythonMiddlewareWarning(`extensions.middlewares[${index}]`, entry));
      return false;
    }),
  };
}

export const pythonMiddlewareWarning = (key: string, use: string): string =>
  `${key}: ${use} is Python and not loaded; write it as a module and name it in extensions.middlewares of config.yaml (docs/custom-middleware.md)`;

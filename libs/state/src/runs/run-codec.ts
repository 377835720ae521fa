import { CancelAction, isTerminal, type RunKwargs, type RunRecord, RunSummary, storedFields } from '@caribou/contracts';
import { z } from 'zod';
import { hashOf } from '../redis/hash.js';
import { parseStored } from '../redis/stored-json.js';

/** The kwargs of a run without input: those of one that cannot be read, or whose kwargs have expired. */
export const NOTHING_ASKED: RunKwargs = {
  input: null,
  context: {},
  recursion_limit: 1,
  stream_mode: ['values'],
  stream_subgraphs: false,
  on_disconnect: 'continue',
  temporary: false,
};

/**
 * Decodes the run record that `runs/admit.lua` wrote, with its kwargs; null when they have expired, or when an earlier
 * version stored them in the record.
 *
 * @throws {BugError} when a run that has not ended has no kwargs
 */
export function runOf(flat: unknown, kwargs: unknown): RunRecord {
  const run = summaryOf(flat);
  const text = typeof kwargs === 'string' ? kwargs : hashOf(flat).get('kwargs');
  if (text === undefined && isTerminal(run.status))
    return Object.assign(run, { kwargs: NOTHING_ASKED, kwargs_expired: true });
  return { ...run, kwargs: parseStored<RunKwargs>(text ?? ''), kwargs_expired: false };
}

/** Decodes the run record that `runs/admit.lua` wrote, as a new object; an unset value is stored as '' or not at all. */
export function summaryOf(flat: unknown): RunSummary {
  const hash = joinParts(hashOf(flat));
  const run: Record<string, unknown> = {};
  for (const { name, read } of summaryFields) run[name] = read(hash);
  return run as RunSummary;
}

/** The fields of a summary with functions that read them from a stored record, made once from the schema. */
const summaryFields = Object.entries(RunSummary.shape).map(([name, schema]) => {
  const { from = [name], as } = storedFields.get(schema) ?? {};
  const decode = decoderOf(schema, as);
  const [first = name] = from;
  const readOne = (hash: ReadonlyMap<string, string>): unknown => decode(hash.get(first) ?? '');
  const readSum = (hash: ReadonlyMap<string, string>): unknown => sum(from.map((field) => hash.get(field) ?? ''));
  return { name, read: from.length === 1 ? readOne : readSum };
});

/** Joins metadata that `includes/ended-record.lua` has stored in parts. */
function joinParts(hash: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const parts: string[] = [];
  for (;;) {
    const part = hash.get(`metadata:${parts.length + 1}`);
    if (part === undefined) break;
    parts.push(part);
  }
  return parts.length === 0 ? hash : new Map([...hash, ['metadata', parts.join('')]]);
}

const sum = (texts: readonly string[]): number => texts.reduce((total, text) => total + Number(text), 0);

/**
 * Returns the function that decodes a field's text. It throws ZodError for an unknown value of an enum, and BugError for
 * text that is not JSON.
 */
function decoderOf(schema: z.ZodType, as?: 'items' | 'milliseconds'): (text: string) => unknown {
  if (schema instanceof z.ZodNullable) {
    const decode = decoderOf(schema.unwrap() as z.ZodType, as);
    return (text) => (text === '' ? null : decode(text));
  }
  if (as === 'milliseconds') return (text) => new Date(Number(text)).toISOString();
  if (as === 'items') return (text) => parseStored(`[${text}]`);
  if (schema instanceof z.ZodString) return (text) => text;
  if (schema instanceof z.ZodNumber) return Number;
  if (schema instanceof z.ZodBoolean) return (text) => text === '1';
  return schema instanceof z.ZodEnum ? (text) => schema.parse(text) : parseStored;
}

/** Decodes a stored cancel flag; '' means none. */
export const cancelOf = (text: unknown): CancelAction | null => (text === '' ? null : CancelAction.parse(text));

import {
  CancelAction,
  type NumberedEvent,
  type RunEvent,
  type RunRecord,
  RunSummary,
  storedFields,
} from '@caribou/contracts';
import { z } from 'zod';
import { hashOf } from '../redis/hash.js';
import { parseStored } from '../redis/stored-json.js';

/**
 * Decodes the run record that `runs/admit.lua` wrote, with its kwargs; null when an earlier version stored them in the
 * record.
 */
export const runOf = (flat: unknown, kwargs: unknown): RunRecord => ({
  ...summaryOf(flat),
  kwargs: parseStored<RunRecord['kwargs']>(typeof kwargs === 'string' ? kwargs : (hashOf(flat).get('kwargs') ?? '')),
});

/** Decodes the run record that `runs/admit.lua` wrote; an unset value is stored as '' or not at all. */
export function summaryOf(flat: unknown): RunSummary {
  const hash = hashOf(flat);
  const fields = Object.entries(RunSummary.shape).map(([name, schema]) => {
    const { from = [name], as } = storedFields.get(schema) ?? {};
    const texts = from.map((field) => hash.get(field) ?? '');
    return [name, texts.length === 1 ? decode(schema, texts[0] ?? '', as) : sum(texts)];
  });
  return Object.fromEntries(fields) as RunSummary;
}

const sum = (texts: readonly string[]): number => texts.reduce((total, text) => total + Number(text), 0);

/** @throws {ZodError} for an unknown value of an enum, {BugError} for text that is not JSON */
function decode(schema: z.ZodType, text: string, as?: 'items' | 'milliseconds'): unknown {
  if (schema instanceof z.ZodNullable) return text === '' ? null : decode(schema.unwrap() as z.ZodType, text, as);
  if (as === 'milliseconds') return new Date(Number(text)).toISOString();
  if (as === 'items') return parseStored(`[${text}]`);
  if (schema instanceof z.ZodString) return text;
  if (schema instanceof z.ZodNumber) return Number(text);
  if (schema instanceof z.ZodBoolean) return text === '1';
  return schema instanceof z.ZodEnum ? schema.parse(text) : parseStored(text);
}

/** Decodes a stored cancel flag; '' means none. */
export const cancelOf = (text: unknown): CancelAction | null => (text === '' ? null : CancelAction.parse(text));

/** Adds to the events the numbers that a script assigned: consecutive from `first`. */
export const numberEvents = (first: unknown, events: readonly RunEvent[]): NumberedEvent[] =>
  events.map((event, index) => ({ seq: Number(first) + index, event }));

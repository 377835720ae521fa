import { isRecord } from '@caribou/contracts';
import { z } from 'zod';

export const DEFAULT_TIMEOUT_MS = 60_000;
const MAX_TIMEOUT_MS = 600_000;

export const TimeoutMs = z.int().min(1).max(MAX_TIMEOUT_MS);

type AnyFunction = (...args: readonly unknown[]) => unknown;

export const isFunction = z.custom<AnyFunction>((value) => typeof value === 'function', 'must be a function');
export const isSchema = z.custom<z.ZodType>((value) => value instanceof z.ZodType, 'must be a schema made with z');

/** A schema made with z, or a JSON Schema. */
export const isInput = z.custom<z.ZodType | Readonly<Record<string, unknown>>>(
  isRecord,
  'must be a schema made with z, or a JSON Schema',
);

export const Name = (form: RegExp) => z.string().regex(form, `must match ${form.source}`);

import type { z } from 'zod';
import type { Refusal } from '../framework/refusal.js';

/** The first fault of a body's shape, as a vendor's message needs it. */
export interface ShapeIssue {
  readonly fault: 'unknown' | 'missing' | 'type' | 'long' | 'short' | 'pattern' | 'value';
  /** `messages[0].content`; '' is the body itself. */
  readonly path: string;
  /** The keys to it. */
  readonly keys: readonly PropertyKey[];
  /** What was expected, in zod's text. */
  readonly message: string;
  /** The value at the path, undefined when it is missing. */
  readonly value: unknown;
  /** The largest or smallest allowed, for `long` and `short`. */
  readonly limit?: number;
}

/**
 * Returns the body in the vendor's shape.
 *
 * @throws what `refuse` makes of the first fault.
 */
export function readShape<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
  refuse: (issue: ShapeIssue) => Refusal,
): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  if (issue === undefined) throw new Error('zod reported a failure without an issue');
  throw refuse(shapeIssue(deepest(issue), body));
}

type Issue = z.core.$ZodIssue;

/** In a union the branch that went furthest holds the reason; its path continues that of the union. */
function deepest(issue: Issue): Issue {
  if (issue.code !== 'invalid_union') return issue;
  const branches = issue.errors.flatMap((branch) => {
    const first = branch[0];
    return first === undefined ? [] : [deepest(first)];
  });
  const best = branches.toSorted((a, b) => b.path.length - a.path.length)[0];
  if (best === undefined || best.path.length === 0) return issue;
  return { ...best, path: [...issue.path, ...best.path] };
}

function shapeIssue(issue: Issue, body: unknown): ShapeIssue {
  if (issue.code === 'unrecognized_keys') {
    const keys = [...issue.path, issue.keys[0] ?? ''];
    return { fault: 'unknown', path: pathText(keys), keys, message: issue.message, value: valueAt(body, keys) };
  }
  const value = valueAt(body, issue.path);
  return {
    fault: value === undefined ? 'missing' : faultOf(issue),
    path: pathText(issue.path),
    keys: issue.path,
    message: issue.message,
    value,
    ...limitOf(issue),
  };
}

function faultOf(issue: Issue): ShapeIssue['fault'] {
  if (issue.code === 'too_big') return 'long';
  if (issue.code === 'too_small') return 'short';
  if (issue.code === 'invalid_format') return 'pattern';
  return issue.code === 'invalid_type' || issue.code === 'invalid_union' ? 'type' : 'value';
}

function limitOf(issue: Issue): { limit?: number } {
  if (issue.code === 'too_big') return { limit: Number(issue.maximum) };
  return issue.code === 'too_small' ? { limit: Number(issue.minimum) } : {};
}

/** `messages[0].content` */
function pathText(keys: readonly PropertyKey[]): string {
  return keys
    .map((key, at) => (typeof key === 'number' ? `[${key}]` : `${at === 0 ? '' : '.'}${String(key)}`))
    .join('');
}

function valueAt(body: unknown, keys: readonly PropertyKey[]): unknown {
  let value = body;
  for (const key of keys) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

/** How a message of a vendor names the type of a JSON value. */
export function jsonType(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal';
  if (typeof value === 'object') return 'an object';
  return `a ${typeof value}`;
}

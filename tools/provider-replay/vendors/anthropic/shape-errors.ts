import type { ShapeIssue } from '../../chat/shape.js';
import type { Refusal } from '../../framework/refusal.js';
import { invalid } from './errors.js';

/** The refusal of a body whose fields have not the right shapes: where, in the vendor's notation, and what is wrong there. */
export function shapeRefusal(issue: ShapeIssue, body: unknown): Refusal {
  const rule = issue.fault === 'unknown' ? 'unknown field' : 'shape of fields';
  return invalid(rule, `${where(issue.keys, body)}: ${textOf(issue)}`);
}

/** Keys joined by dots, with the type of each block behind its index: `messages.0.content.1.thinking.signature`. */
function where(keys: readonly PropertyKey[], body: unknown): string {
  let value: unknown = body;
  return keys
    .flatMap((key, at) => {
      value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
      const next = keys[at + 1];
      if (typeof key !== 'number' || next === undefined || next === 'type') return [String(key)];
      const tag = tagOf(value, keys[at - 1]);
      return tag === undefined ? [String(key)] : [String(key), tag];
    })
    .join('.');
}

function tagOf(value: unknown, list: PropertyKey | undefined): string | undefined {
  if (list === 'tools') return 'custom';
  if (list !== 'content' || typeof value !== 'object' || value === null || !('type' in value)) return undefined;
  return typeof value.type === 'string' ? value.type : undefined;
}

function textOf({ fault, limit, message, value, keys }: ShapeIssue): string {
  switch (fault) {
    case 'unknown':
      return 'Extra inputs are not permitted';
    case 'missing':
      return 'Field required';
    case 'short':
      return `Input should be greater than or equal to ${limit}`;
    case 'long':
      return `Input should be less than or equal to ${limit}`;
    case 'pattern':
      return `String should match pattern: ${message}`;
    case 'type':
    case 'value':
      if (keys.at(-1) === 'type') return `Input tag '${String(value)}' does not match any of the expected tags`;
      return `Input should be valid: ${message}`;
  }
}

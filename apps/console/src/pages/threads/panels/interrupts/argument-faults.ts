import { panels } from '../../../../text/panels.js';
import { type AskedCall, isObject } from './waiting.js';

/** Why an answer cannot be sent: its field, such as `args.amount`, or empty for the whole. */
export interface Fault {
  readonly field: string;
  readonly text: string;
}

type Schema = Readonly<Record<string, unknown>>;

const MAX_FAULTS = 5;
const MAX_DEPTH = 8;

/**
 * What the server would refuse of edited arguments, as far as the usual keywords of their JSON Schema say it. Keywords that are not known
 * here are left to the server, which checks all of them again.
 */
export function argumentFaults(args: Schema, { args: asked, schema }: Pick<AskedCall, 'args' | 'schema'>): Fault[] {
  if (schema === undefined) return [];
  return [...faultsOf(args, schema, 'args', 0), ...unknownNames(args, asked, schema)].slice(0, MAX_FAULTS);
}

/** Names that neither the tool describes nor the call had: a misspelt one would have no effect. */
function unknownNames(args: Schema, asked: Schema, schema: Schema): Fault[] {
  const { properties, additionalProperties: others = false, patternProperties } = schema;
  if (!isObject(properties) || others !== false || patternProperties !== undefined) return [];
  return Object.keys(args)
    .filter((name) => !Object.hasOwn(properties, name) && !Object.hasOwn(asked, name))
    .map((name) => ({ field: `args.${name}`, text: panels.interrupts.noSuchArgument(Object.keys(properties)) }));
}

function faultsOf(value: unknown, schema: Schema, field: string, depth: number): Fault[] {
  if (depth > MAX_DEPTH) return [];
  const types = typesOf(schema);
  if (types.length > 0 && !types.some((type) => isOfType(value, type)))
    return [{ field, text: panels.interrupts.wrongType(types.join(', ')) }];
  const allowed = schema['enum'];
  if (Array.isArray(allowed) && !allowed.some((each) => each === value))
    return [{ field, text: panels.interrupts.notOneOf(allowed.map((each) => JSON.stringify(each)).slice(0, 20)) }];
  const bound = boundFault(value, schema);
  if (bound !== undefined) return [{ field, text: bound }];
  if (Array.isArray(value)) return itemFaults(value, schema['items'], field, depth);
  return isObject(value) ? memberFaults(value, schema, field, depth) : [];
}

const itemFaults = (value: readonly unknown[], items: unknown, field: string, depth: number): Fault[] =>
  isObject(items) ? value.flatMap((item, index) => faultsOf(item, items, `${field}[${index}]`, depth + 1)) : [];

function memberFaults(value: Schema, { properties, required }: Schema, field: string, depth: number): Fault[] {
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
  const missing = names
    .filter((name) => !Object.hasOwn(value, name))
    .map((name) => ({ field: `${field}.${name}`, text: panels.interrupts.argumentMissing }));
  if (!isObject(properties)) return missing;
  const wrong = Object.entries(properties).flatMap(([name, member]) =>
    isObject(member) && Object.hasOwn(value, name) ? faultsOf(value[name], member, `${field}.${name}`, depth + 1) : [],
  );
  return [...missing, ...wrong];
}

const typesOf = ({ type }: Schema): readonly string[] => {
  if (typeof type === 'string') return [type];
  return Array.isArray(type) ? type.filter((each) => typeof each === 'string') : [];
};

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value);
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type;
    default:
      return true;
  }
}

/** Keywords that bound a value, and what they compare with. */
const bounds = [
  ['minimum', 'number', (size: number, limit: number) => size >= limit],
  ['maximum', 'number', (size: number, limit: number) => size <= limit],
  ['exclusiveMinimum', 'number', (size: number, limit: number) => size > limit],
  ['exclusiveMaximum', 'number', (size: number, limit: number) => size < limit],
  ['minLength', 'string', (size: number, limit: number) => size >= limit],
  ['maxLength', 'string', (size: number, limit: number) => size <= limit],
  ['minItems', 'array', (size: number, limit: number) => size >= limit],
  ['maxItems', 'array', (size: number, limit: number) => size <= limit],
] as const;

function boundFault(value: unknown, schema: Schema): string | undefined {
  const size = sizeOf(value);
  if (size === undefined) return undefined;
  for (const [keyword, type, holds] of bounds) {
    const limit = schema[keyword];
    if (type !== size.type || typeof limit !== 'number' || holds(size.size, limit)) continue;
    return panels.interrupts.outOfBounds(keyword, limit);
  }
  return undefined;
}

function sizeOf(value: unknown): { readonly type: string; readonly size: number } | undefined {
  if (typeof value === 'number') return { type: 'number', size: value };
  if (typeof value === 'string') return { type: 'string', size: Array.from(value).length };
  return Array.isArray(value) ? { type: 'array', size: value.length } : undefined;
}

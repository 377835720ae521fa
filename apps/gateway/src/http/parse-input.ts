import { InvalidRequestError, type RouteContract, type RouteInput } from '@caribou/contracts';
import type { z } from 'zod';

export interface RawInput {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** The input of a route, parsed. @throws {InvalidRequestError} naming the fields and what they must be */
export function parseInput(contract: RouteContract, raw: RawInput): RouteInput<RouteContract> {
  return {
    params: parse(contract.params, raw.params, 'path'),
    query: parse(contract.query, raw.query, 'query'),
    body: parse(contract.body, raw.body, 'body'),
  };
}

/** One value by its schema. @throws {InvalidRequestError} */
export function parse<Schema extends z.ZodType>(schema: Schema, value: unknown, where: string): z.output<Schema> {
  const result = schema.safeParse(value);
  if (!result.success) throw new InvalidRequestError(faultsOf(result.error, where));
  return result.data;
}

const MAX_ISSUES = 3;
const MAX_CHARS = 500;

/** Describes the first faults. Values are never repeated, because they may be long or contain secrets. */
function faultsOf(error: z.ZodError, where: string): string {
  const faults = error.issues.slice(0, MAX_ISSUES).map(({ path, message }) => {
    const field = path.length === 0 ? where : path.map(String).join('.').slice(0, 100);
    return `${field}: ${message}`;
  });
  const more = error.issues.length > MAX_ISSUES ? ` (and ${error.issues.length - MAX_ISSUES} more)` : '';
  return `${faults.join('; ').slice(0, MAX_CHARS)}${more}`;
}

import { isDeepStrictEqual } from 'node:util';
import { InvalidRequestError, isRecord } from '@caribou/contracts';

type Value = Readonly<Record<string, unknown>>;
type Test = (value: unknown) => boolean;

const isOrdered = (value: unknown): value is number | string => typeof value === 'number' || typeof value === 'string';

/** Compares two numbers or two texts; false for anything else. */
const ordered =
  (holds: (order: number) => boolean) =>
  (wanted: unknown): Test =>
  (value) => {
    if (!isOrdered(value) || !isOrdered(wanted) || typeof value !== typeof wanted) return false;
    return holds(value === wanted ? 0 : value < wanted ? -1 : 1);
  };

const operators: Readonly<Record<string, (wanted: unknown) => Test>> = {
  $eq: (wanted) => (value) => isDeepStrictEqual(value, wanted),
  $ne: (wanted) => (value) => !isDeepStrictEqual(value, wanted),
  $gt: ordered((order) => order > 0),
  $gte: ordered((order) => order >= 0),
  $lt: ordered((order) => order < 0),
  $lte: ordered((order) => order <= 0),
};

/**
 * A test of items' values by a filter: each of its fields must be equal, or fulfil all of its operators.
 *
 * @throws {InvalidRequestError} for an unknown operator
 */
export function valueFilter(filter: Value | null | undefined): (value: Value) => boolean {
  const tests = Object.entries(filter ?? {}).map(([field, wanted]) => ({ field, test: testOf(field, wanted) }));
  return (value) => tests.every(({ field, test }) => test(value[field]));
}

function testOf(field: string, wanted: unknown): Test {
  if (!isRecord(wanted) || !Object.keys(wanted).some((name) => name.startsWith('$')))
    return (value) => isDeepStrictEqual(value, wanted);
  const tests = Object.entries(wanted).map(([name, operand]) => {
    const operator = Object.hasOwn(operators, name) ? operators[name] : undefined;
    if (operator !== undefined) return operator(operand);
    const known = Object.keys(operators).join(', ');
    throw new InvalidRequestError(`filter.${field}: there is no operator "${name.slice(0, 50)}"; there are ${known}`);
  });
  return (value) => tests.every((test) => test(value));
}

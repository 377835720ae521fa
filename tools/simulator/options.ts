import { parseArgs } from 'node:util';
import { FAULT_KINDS, type FaultKind } from './virtual/faults.js';
import { type Sabotage, SABOTAGES } from './virtual/sabotage.js';

const USAGE = [
  `npm run simulate -- [--seeds N] [--seed S] [--workers W] [--trace] [--faults ${FAULT_KINDS.join(',')}]`,
  `  [--sabotage ${SABOTAGES.join('|')}] [--until-failure]`,
].join('\n');

/** What is simulated: the histories of `count` seeds from `first` on. */
export interface Options {
  readonly first: number;
  readonly count: number;
  /** Processes that simulate side by side; undefined: one per processor. */
  readonly workers: number | undefined;
  readonly allowed: readonly FaultKind[];
  readonly tracing: boolean;
  /** A fault that the product once had, put back; the checker must find it. */
  readonly sabotage: Sabotage | undefined;
  /** No seed after the first that violates an invariant is reported. */
  readonly untilFailure: boolean;
}

/** @throws {Error} with the usage, for invalid arguments */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: 'string', default: '1' },
      seed: { type: 'string', default: '1' },
      workers: { type: 'string' },
      faults: { type: 'string', default: FAULT_KINDS.join(',') },
      sabotage: { type: 'string' },
      trace: { type: 'boolean', default: false },
      'until-failure': { type: 'boolean', default: false },
    },
  });
  return {
    first: wholeNumber('seed', values.seed, 0),
    count: wholeNumber('seeds', values.seeds, 1),
    workers: values.workers === undefined ? undefined : wholeNumber('workers', values.workers, 1),
    allowed: values.faults.split(',').map((name) => oneOf('faults', name, FAULT_KINDS)),
    tracing: values.trace,
    sabotage: values.sabotage === undefined ? undefined : oneOf('sabotage', values.sabotage, SABOTAGES),
    untilFailure: values['until-failure'],
  };
}

function wholeNumber(option: string, text: string, least: number): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least)
    throw new Error(`--${option}: '${text}' is not a whole number from ${least}\n${USAGE}`);
  return value;
}

function oneOf<Name extends string>(option: string, name: string, names: readonly Name[]): Name {
  const known = names.find((other) => other === name);
  if (known === undefined) throw new Error(`--${option}: '${name}' is not one of ${names.join(', ')}\n${USAGE}`);
  return known;
}

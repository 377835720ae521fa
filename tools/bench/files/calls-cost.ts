import { resolve } from 'node:path';
import { type Fleet, type FleetOptions, startFleet } from '../fleet.js';
import { measureMs } from '../parts/long-thread.js';
import { sandboxMissing } from '../parts/sandbox-cost.js';
import { inTurn, median } from '../sample.js';
import { dist } from '../servers.js';
import { openCalls, type SystemCalls } from './system-calls.js';

export const OPERATIONS = ['exec', 'write', 'read'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** One call of each system, in milliseconds. */
type Round = Readonly<Record<SystemName, number>>;

/** `before` is an earlier build, on a volume; without one it is this build on a volume. */
export type SystemName = 'before' | 'volume' | 'stored';

export interface ComparedCalls {
  /** Median of the calls of one system, in milliseconds. */
  medianMs(operation: Operation, system: SystemName): number;
  /** Median over all rounds of what the stored call took, times the other, and beyond it in milliseconds. */
  ratio(operation: Operation, to: SystemName): number;
  beyondMs(operation: Operation, to: SystemName): number;
}

interface System {
  readonly name: SystemName;
  readonly calls: SystemCalls;
}

/** Until V8 has compiled what the calls use, whose services are long-lived. */
const WARM_UP_ROUNDS = 60;

/**
 * What calls of a sandbox cost when files lie in an object store, beside those on a data volume: whole systems take turns, call by call.
 *
 * @param before folder of a built checkout of an earlier version, whose system takes turns too
 * @returns the reason when this machine has no bwrap
 */
export async function compareCalls(repeats: number, before: string | undefined): Promise<ComparedCalls | string> {
  const fleets: Fleet[] = [];
  const systems: System[] = [];
  const start = async (name: SystemName, options: FleetOptions = {}): Promise<void> => {
    const fleet = await startFleet(options);
    fleets.push(fleet);
    systems.push({ name, calls: await openCalls(fleet, options.product ?? dist) });
  };
  try {
    await start('volume');
    const missing = await sandboxMissing('bwrap', fleets[0]?.homeDir ?? '');
    if (missing !== null) return missing;
    await start('stored', { config: 'files: {}\n' });
    if (before !== undefined) await start('before', { product: resolve(before, 'dist') });
    await inTurn(WARM_UP_ROUNDS, (round) => roundOf(systems, round));
    return comparedCalls(await inTurn(repeats, (round) => roundOf(systems, round)));
  } finally {
    for (const { calls } of systems) await calls.close();
    for (const fleet of fleets) await fleet.stop();
  }
}

/** One call of each operation by each system; another one is first in each round. */
async function roundOf(systems: readonly System[], round: number): Promise<Readonly<Record<Operation, Round>>> {
  const order = systems.map((_, at) => systems[(at + round) % systems.length]).filter((each) => each !== undefined);
  const times: Record<Operation, Round> = { exec: noTimes, write: noTimes, read: noTimes };
  for (const operation of ['write', 'read', 'exec'] as const) {
    const each: Record<SystemName, number> = { ...noTimes };
    for (const { name, calls } of order) each[name] = await measureMs(() => calls[operation]());
    if (systems.length < 3) each.before = each.volume;
    times[operation] = each;
  }
  return times;
}

const noTimes: Round = { before: 0, volume: 0, stored: 0 };

function comparedCalls(rounds: readonly Readonly<Record<Operation, Round>>[]): ComparedCalls {
  const over = (operation: Operation, valueOf: (round: Round) => number): number =>
    median(rounds.map((round) => valueOf(round[operation])));
  return {
    medianMs: (operation, system) => over(operation, (round) => round[system]),
    ratio: (operation, to) => over(operation, (round) => round.stored / round[to]),
    beyondMs: (operation, to) => over(operation, (round) => round.stored - round[to]),
  };
}

import { isTerminal } from '@caribou/contracts';
import type { OrderedRun } from '@caribou/state';
import { fromSeq, LAST_INDEX, seqBefore } from './sequence.js';

/** How many of a thread's newest runs a stream replays at most. */
export const MAX_REPLAYED_RUNS = 100;

/** Where a stream begins. */
export interface StartPosition {
  /** Events up to this number are not sent. */
  readonly since: number;
  /** Ordinal of the last run of which nothing is sent. */
  readonly done: number;
  /** Whether events after the client's position are gone, so that it gets the newest state first. */
  readonly isGap: boolean;
}

/**
 * The begin of a stream. Without `since` it is that of the oldest run in flight, else of the last run.
 *
 * @param runs the newest `MAX_REPLAYED_RUNS` runs, newest first
 */
export function startPosition(runs: readonly OrderedRun[], since: number | undefined): StartPosition {
  if (since === undefined) return atCurrentRun(runs, false);
  const position = fromSeq(since);
  const newest = runs[0]?.ordinal ?? 0;
  // The number of an event that is no longer there: the store has lost its newest writes.
  if (position.ordinal > newest) return atCurrentRun(runs, true);
  if (since === 0) return { since, done: 0, isGap: false };
  if (position.index === LAST_INDEX) return { since, done: position.ordinal, isGap: isCut(runs, position.ordinal) };
  const isThere = runs.some(({ ordinal }) => ordinal === position.ordinal);
  return { since, done: isThere ? position.ordinal - 1 : position.ordinal, isGap: !isThere };
}

function atCurrentRun(runs: readonly OrderedRun[], isGap: boolean): StartPosition {
  const inFlight = runs.filter(({ status }) => !isTerminal(status)).at(-1);
  const ordinal = (inFlight ?? runs[0])?.ordinal ?? 1;
  return { since: seqBefore(ordinal), done: ordinal - 1, isGap };
}

/** Whether more runs follow than are replayed. */
const isCut = (runs: readonly OrderedRun[], done: number): boolean =>
  runs.length >= MAX_REPLAYED_RUNS && (runs.at(-1)?.ordinal ?? 0) > done + 1;

/** The run to stream next; undefined when there is none yet. */
export const nextRun = (runs: readonly OrderedRun[], done: number): OrderedRun | undefined =>
  runs.filter(({ ordinal }) => ordinal > done).at(-1);

/** How many runs are read at first: most streams need the last one. */
const FEW_RUNS = 4;

type ReadRuns = (limit: number) => Promise<readonly OrderedRun[]>;

/** The newest runs: few of them if these go back far enough, else as many as are replayed. */
export async function runsBackTo(
  read: ReadRuns,
  isEnough: (oldest: OrderedRun) => boolean,
): Promise<readonly OrderedRun[]> {
  const few = await read(FEW_RUNS);
  const oldest = few.at(-1);
  return few.length < FEW_RUNS || oldest === undefined || isEnough(oldest) ? few : await read(MAX_REPLAYED_RUNS);
}

/**
 * The number after which a stream without `since` begins. It is read before the client learns that the stream is open, so that it
 * misses no run that starts from then on.
 */
export async function currentPosition(read: ReadRuns): Promise<number> {
  // Runs in flight are always the newest ones.
  return startPosition(await runsBackTo(read, ({ status }) => isTerminal(status)), undefined).since;
}

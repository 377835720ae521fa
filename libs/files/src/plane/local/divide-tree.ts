import { isUtf8 } from 'node:buffer';
import { closeSync, fstatSync } from 'node:fs';
import { DATA_DIRECTORIES } from '@caribou/core';
import { parentOf } from '../tree/tree-nodes.js';
import { isClosed, isGone, type LocalTree, namesIn } from './local-tree.js';
import { type Stamp, stampOf } from './stamps.js';

/**
 * Divides a local tree between two processes. Each gets names in directories that are open, so that no link that a running command puts
 * into the tree leads it elsewhere. How many entries lie below a name is estimated from the index and decides about the balance only.
 */

/** A directory with names for a process. */
export interface OpenDirectory {
  /** Empty for the directory that has the data directories. */
  readonly path: string;
  readonly descriptor: number;
}

/** Where a process begins to look: a name in an open directory. */
export interface StartingPoint {
  readonly directory: OpenDirectory;
  /** As text, for the arguments of a process. */
  readonly name: string;
}

export interface Division {
  /** One for each process: a single one when two are not worth it. Together with `opened` they reach the whole tree. */
  readonly shares: readonly (readonly StartingPoint[])[];
  /** Directories that are no starting points, as what is in them is. */
  readonly opened: ReadonlyMap<string, Stamp>;
  /** Closes the directories. */
  readonly close: () => void;
}

interface Start extends StartingPoint {
  readonly path: string;
  /** Samples at or below the path. */
  readonly weight: number;
}

const SAMPLES = 1_024;
/** A starting point with a larger part of the tree is replaced by what is in it. */
const MAX_PART = 1 / 4;
const MAX_OPENED = 32;
/** By how much of its size an index may grow or shrink before it is sampled again. */
const MAX_GROWTH = 1 / 8;
/** Names of a directory that is opened. */
const MAX_NAMES = 2_000;
/** Bytes of the arguments of both processes; Linux admits 128 KiB at least, with the environment. */
const MAX_ARGUMENT_BYTES = 96 * 1024;
/** What a starting point takes beside its name. */
const PREFIX_BYTES = 32;

/**
 * @param known paths that were there at the last scan
 * @param minShare entries that each of two processes has at least
 */
export function divideTree(local: LocalTree, known: ReadonlyMap<string, unknown>, minShare: number): Division {
  const divider = new Divider(local, sampleOf(known));
  try {
    if (known.size >= 2 * minShare) divider.openLargest();
    const [larger, smaller] = halvesOf(divider.starts);
    const share = weightOf(smaller) / Math.max(1, weightOf(divider.starts));
    const isWorthIt = larger.length > 0 && smaller.length > 0 && share * known.size >= minShare;
    const close = (): void => divider.close();
    return isWorthIt
      ? { shares: [larger, smaller], opened: divider.opened, close }
      : { shares: [divider.whole], opened: new Map(), close };
  } catch (error) {
    divider.close();
    throw error;
  }
}

class Divider {
  readonly opened = new Map<string, Stamp>();
  readonly whole: readonly Start[];
  starts: readonly Start[];
  private readonly directories: OpenDirectory[] = [];
  private readonly undivided = new Set<string>();
  private argumentBytes = 0;

  constructor(
    private readonly local: LocalTree,
    private readonly samples: ReadonlyMap<string, number>,
  ) {
    this.whole = this.startsIn(this.directoryOf(''), DATA_DIRECTORIES);
    this.starts = this.whole;
  }

  openLargest(): void {
    const maxWeight = weightOf(this.starts) * MAX_PART;
    for (let count = 0; count < MAX_OPENED; count += 1) {
      const large = this.starts.filter(({ path, weight }) => weight > maxWeight && !this.undivided.has(path));
      const [largest] = large.sort(byWeight);
      if (largest === undefined) return;
      const inside = this.startsInside(largest.path);
      if (inside === undefined) this.undivided.add(largest.path);
      else this.starts = [...this.starts.filter((start) => start !== largest), ...inside];
    }
  }

  close(): void {
    for (const { descriptor } of this.directories.splice(0)) closeSync(descriptor);
  }

  /** What is in a directory; undefined when it cannot be opened, has too many names or one that is no text. */
  private startsInside(path: string): readonly Start[] | undefined {
    try {
      const directory = this.directoryOf(path);
      const names = namesIn(directory.descriptor, MAX_NAMES + 1).map((name) => Buffer.from(name, 'latin1'));
      const bytes = names.reduce((sum, name) => sum + name.byteLength + PREFIX_BYTES, this.argumentBytes);
      if (names.length > MAX_NAMES || bytes > MAX_ARGUMENT_BYTES || !names.every((name) => isUtf8(name)))
        return undefined;
      this.argumentBytes = bytes;
      // Of the directory that was listed, whatever has this path by now.
      this.opened.set(path, stampOf(fstatSync(directory.descriptor)));
      return this.startsIn(
        directory,
        names.map((name) => name.toString('utf8')),
      );
    } catch (error) {
      if (isGone(error) || isClosed(error)) return undefined;
      throw error;
    }
  }

  private directoryOf(path: string): OpenDirectory {
    const directory = { path, descriptor: this.local.openDirectory(path) };
    this.directories.push(directory);
    return directory;
  }

  private startsIn(directory: OpenDirectory, names: readonly string[]): readonly Start[] {
    return names.map((name) => {
      const path = joined(directory.path, Buffer.from(name).toString('latin1'));
      return { directory, name, path, weight: this.samples.get(path) ?? 0 };
    });
  }
}

/** The path of an entry; `directory` is empty for the one that has the data directories. */
export const joined = (directory: string, path: string): string => (directory === '' ? path : `${directory}/${path}`);

const byWeight = (left: Start, right: Start): number => right.weight - left.weight;

const weightOf = (starts: readonly Start[]): number => starts.reduce((sum, { weight }) => sum + weight, 0);

/** Two parts of about the same weight, the heavier one first: each starting point, the heaviest first, goes to the lighter part. */
function halvesOf(starts: readonly Start[]): readonly [readonly Start[], readonly Start[]] {
  const left: Start[] = [];
  const right: Start[] = [];
  let balance = 0;
  for (const start of [...starts].sort(byWeight)) {
    // What has no sample counts too, so that such names are spread.
    const weight = start.weight + 1;
    (balance <= 0 ? left : right).push(start);
    balance += balance <= 0 ? weight : -weight;
  }
  return weightOf(left) >= weightOf(right) ? [left, right] : [right, left];
}

interface Samples {
  readonly size: number;
  readonly counts: ReadonlyMap<string, number>;
}

/** Of indexes that are in memory. */
const samplesOf = new WeakMap<ReadonlyMap<string, unknown>, Samples>();

/** How many of some paths lie at or below each path: of those that were there when the index had about as many. */
function sampleOf(known: ReadonlyMap<string, unknown>): ReadonlyMap<string, number> {
  const former = samplesOf.get(known);
  if (former !== undefined && Math.abs(former.size - known.size) <= MAX_GROWTH * former.size) return former.counts;
  const counts = newSample(known);
  samplesOf.set(known, { size: known.size, counts });
  return counts;
}

function newSample(known: ReadonlyMap<string, unknown>): ReadonlyMap<string, number> {
  const step = Math.max(1, Math.floor(known.size / SAMPLES));
  const samples = new Map<string, number>();
  let at = 0;
  for (const each of known.keys()) {
    if (at % step === 0) {
      for (let path: string | undefined = each; path !== undefined; path = parentOf(path)) {
        samples.set(path, (samples.get(path) ?? 0) + 1);
      }
    }
    at += 1;
  }
  return samples;
}

import type { AppName } from '../support/stack.js';
import { Random } from './random.js';

/** What can happen to a process: SIGKILL and a restart, SIGSTOP and SIGCONT, SIGTERM and a restart. */
export type ProcessFault = 'kill' | 'pause' | 'restart';
/** What can happen to a link: its connections break and new ones are refused; or nothing passes either way. */
export type LinkFault = 'cut' | 'silence';
export type ServerName = 'nats' | 'redis';

export type Fault = { readonly atMs: number; readonly forMs: number } & (
  | { readonly kind: ProcessFault; readonly app: AppName; readonly index: number }
  | { readonly kind: 'kill' | 'pause'; readonly server: ServerName | 'objects' }
  | { readonly kind: LinkFault; readonly app: AppName; readonly index: number; readonly server: ServerName }
);

/** Processes of each service. */
export type FleetSize = Readonly<Record<AppName, number>>;

const SERVERS: readonly ServerName[] = ['nats', 'redis'];
/** Long enough for every lease of the fast clocks to end, and short enough for none to. */
const [SHORTEST_MS, LONGEST_MS] = [300, 4_500];
/** Runners have most of the critical state, so they get most faults. */
const APPS: FleetSize = {
  'agent-runner': 4,
  'subagent-pool': 2,
  'sandbox-manager': 3,
  gateway: 2,
  'memory-worker': 1,
};

/** Mean time between two kills of the object store, in milliseconds; there are at least two, however short the run is. */
const STORE_KILL_MS = 30_000;

export interface FaultTimes {
  /** Faults begin until then. */
  readonly durationMs: number;
  /** Mean time between the beginnings of two faults. */
  readonly meanPauseMs: number;
  /** Whether there is an object store, which is killed as well. */
  readonly hasStore?: boolean;
}

/** The faults of a run in order of time: the same seed, times and fleet always give the same ones. */
export function planFaults(seed: number, fleet: FleetSize, times: FaultTimes): readonly Fault[] {
  const { durationMs, meanPauseMs, hasStore = false } = times;
  const random = new Random(seed, 'faults');
  const faults: Fault[] = [];
  let atMs = meanPauseMs / 2;
  while (atMs < durationMs) {
    faults.push(faultAt(random, Math.round(atMs), fleet));
    atMs += meanPauseMs * (0.4 + 1.2 * random.next());
  }
  if (hasStore) faults.push(...storeFaults(seed, durationMs, fleet));
  return faults.sort((one, other) => one.atMs - other.atMs);
}

/**
 * A kill of the store in each of equal parts of the time, so that none begins while the store is still away; and meanwhile one of a
 * sandbox-manager, which may have changes of files that are not stored.
 */
function storeFaults(seed: number, durationMs: number, fleet: FleetSize): readonly Fault[] {
  const random = new Random(seed, 'store');
  const count = Math.max(2, Math.round(durationMs / STORE_KILL_MS));
  const part = durationMs / count;
  return Array.from({ length: count }, (_, index): readonly Fault[] => {
    const atMs = Math.round((index + 0.1 + 0.4 * random.next()) * part);
    const forMs = Math.round(Math.min(random.between(SHORTEST_MS, LONGEST_MS), 0.4 * part));
    const manager = random.between(0, fleet['sandbox-manager'] - 1);
    const within = { atMs: atMs + Math.round(forMs * random.next()), forMs: random.between(SHORTEST_MS, LONGEST_MS) };
    return [
      { kind: 'kill', server: 'objects', atMs, forMs },
      { ...within, kind: 'kill', app: 'sandbox-manager', index: manager },
    ];
  }).flat();
}

function faultAt(random: Random, atMs: number, fleet: FleetSize): Fault {
  const when = { atMs, forMs: random.between(SHORTEST_MS, LONGEST_MS) };
  const kind = random.weighted({ kill: 40, pause: 14, restart: 8, cut: 12, silence: 8, server: 18 });
  if (kind === 'server') return { ...when, kind: random.chance(0.7) ? 'kill' : 'pause', server: random.pick(SERVERS) };
  const app = random.weighted(APPS);
  const target = { app, index: random.between(0, fleet[app] - 1) };
  if (kind === 'cut' || kind === 'silence') return { ...when, kind, ...target, server: random.pick(SERVERS) };
  return { ...when, kind, ...target };
}

export const TURN_KINDS = {
  plain: 14,
  tools: 22,
  subagents: 10,
  question: 7,
  cancel: 10,
  upload: 7,
  memory: 6,
  mcp: 10,
  stateless: 5,
  enqueue: 4,
  interrupt: 4,
  rollback: 3,
  reject: 2,
} as const;
/** With an object store: most turns write and read files. */
const TURN_KINDS_WITH_FILES = { ...TURN_KINDS, files: 60 } as const;
export type TurnKind = keyof typeof TURN_KINDS_WITH_FILES;

export interface PlannedTurn {
  readonly kind: TurnKind;
  /** Unique among the turns of the run. */
  readonly word: string;
  /** For the choices within the turn. */
  readonly seed: number;
}

/** The turns of the n-th thread of a lane. */
export function planThread(seed: number, lane: number, thread: number, withFiles = false): readonly PlannedTurn[] {
  const random = new Random(seed, `lane ${lane} thread ${thread}`);
  const kinds: Readonly<Partial<Record<TurnKind, number>>> = withFiles ? TURN_KINDS_WITH_FILES : TURN_KINDS;
  return Array.from({ length: random.between(2, 5) }, (_, turn) => ({
    kind: random.weighted(kinds),
    word: `w${lane}x${thread}x${turn}z`,
    seed: random.between(0, 2 ** 31),
  }));
}

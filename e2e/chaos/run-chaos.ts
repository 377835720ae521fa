import { linesOf } from '../support/threads-on-disk.js';
import { violationsOf } from './checker.js';
import { applyFaults, type FaultCounts, reviveCrashed } from './faults.js';
import type { Member } from './fleet.js';
import { collectHistory, collectUsage } from './collect-history.js';
import { collectFiles, linesAtGateway } from './files/collect-files.js';
import { type FileFigures, fileFigures } from './files/file-checks.js';
import type { History, Violation } from './history.js';
import { Journal } from './journal.js';
import { RetryingClient } from './retrying-client.js';
import { type FleetSize, planFaults } from './plan.js';
import { Random } from './random.js';
import { gatewaysOf, type Scene, setScene } from './scene.js';
import { type UsageFigures, usageFigures } from './usage-checks.js';
import { processesOf, readRemembered, findLeftovers } from './leftovers.js';
import { turnsAfter, workload, type WorkloadOptions } from './workload.js';

export interface ChaosOptions {
  readonly seed: number;
  /** Time in which turns begin. */
  readonly durationMs: number;
  /** Faults begin until so long before that. */
  readonly quietMs: number;
  /** Time for all work to end after it. */
  readonly settleMs: number;
  /** How long a request may be repeated, and a run may last. */
  readonly patienceMs: number;
  /** Mean time between the beginnings of two faults. */
  readonly meanPauseMs: number;
  readonly lanes: number;
  readonly fleet: FleetSize;
  /** With more than one, files are in an object store, which fails and is killed too. */
  readonly machines: number;
  /** Receives a line each minute, and some at the end. */
  readonly say: (line: string) => void;
}

export interface ChaosResult extends FaultCounts {
  readonly accepted: number;
  readonly terminal: number;
  readonly takeovers: number;
  readonly longestGapMs: number;
  readonly usage: UsageFigures;
  readonly files: FileFigures;
  readonly violations: readonly Violation[];
}

const DRAIN_MS = 60_000;
const MINUTE_MS = 60_000;

/** Runs the product under work and faults, waits until all work has ended, and checks its guarantees on the history. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const scene = await setScene(options);
  const journal = new Journal();
  const counts: FaultCounts = { kills: 0, pauses: 0, restarts: 0, cuts: 0, storeKills: 0 };
  try {
    await work(options, { scene, journal, counts });
    const history = await historyOf(options, scene, journal);
    const violations = violationsOf(history);
    for (const violation of violations) options.say(`violation: ${JSON.stringify(violation)}`);
    const { terminal, takeovers, longestGapMs } = journal;
    const usage = usageFigures(history);
    const store = scene.store?.proxy.counts;
    const runs = { accepted: journal.runs.length, terminal, takeovers, longestGapMs };
    return { ...counts, ...runs, usage, files: fileFigures(history, store), violations };
  } finally {
    await scene.close();
  }
}

interface Course {
  readonly scene: Scene;
  readonly journal: Journal;
  readonly counts: FaultCounts;
}

async function work(options: ChaosOptions, { scene, journal, counts }: Course): Promise<void> {
  const { seed, durationMs, quietMs, lanes, patienceMs } = options;
  const incident = (what: string): void => journal.incident(what);
  const hasStore = scene.store !== undefined;
  const endMs = performance.now() + durationMs;
  const load: WorkloadOptions = {
    seed,
    lanes,
    journal,
    patienceMs,
    hasStore,
    gateways: gatewaysOf(scene),
    isOver: () => performance.now() > endMs,
  };
  const minutes = setInterval(() => options.say(lineOf(journal, counts)), MINUTE_MS);
  try {
    const { fleet, meanPauseMs } = options;
    const faults = planFaults(seed, fleet, { durationMs: durationMs - quietMs, meanPauseMs, hasStore });
    const { nats, redis } = scene.stack;
    const servers = { nats, redis, ...(scene.store === undefined ? {} : { objects: scene.store.server }) };
    const ports = { servers, fleet: scene.fleet, counts, incident, drainMs: DRAIN_MS };
    await Promise.all([workload(load), applyFaults(faults, ports)]);
    for (const member of scene.fleet) await reviveCrashed(member, { incident });
    await turnsAfter(load);
  } finally {
    clearInterval(minutes);
  }
}

/** One line of progress. */
export const lineOf = (
  { runs, terminal, takeovers, longestGapMs }: Journal,
  { kills, pauses, restarts, cuts, storeKills }: FaultCounts,
): string =>
  `runs ${runs.length} accepted, ${terminal} terminal; ${kills} kills, ${pauses} pauses, ${restarts} restarts, ` +
  `${cuts} cuts${storeKills > 0 ? `, ${storeKills} kills of the store` : ''}; ${takeovers} takeovers; longest gap ${(longestGapMs / 1_000).toFixed(1)} s`;

async function historyOf(options: ChaosOptions, scene: Scene, journal: Journal): Promise<History> {
  const { stack, fleet, paid, answered } = scene;
  const random = new Random(options.seed, 'end');
  const client = new RetryingClient({ gateways: gatewaysOf(scene), random, journal, patienceMs: options.patienceMs });
  const remains = [...(await findLeftovers(stack, journal, options.settleMs))];
  const { patienceMs } = options;
  const threads = await collectHistory(journal.runs, {
    client,
    paid,
    linesOf: async (threadId, name) =>
      scene.store === undefined ? linesOf(stack, threadId, name) : linesAtGateway(client, threadId, name),
    filesOf: (threadId) => collectFiles(threadId, { journal, gateways: gatewaysOf(scene), patienceMs }),
  });
  const remembered = await readRemembered(stack, journal);
  const usage = { answered: [...answered], ledger: await collectUsage(client), declined: journal.declined };
  await Promise.all(fleet.map((member) => endGracefully(member, journal)));
  remains.push(...processesOf(stack));
  return { threads, remembered, usage, remains, incidents: journal.incidents };
}

async function endGracefully(member: Member, journal: Journal): Promise<void> {
  try {
    await member.terminate(DRAIN_MS);
  } catch (error) {
    journal.incident(`${member.app} ${member.index} does not end: ${String(error)}`);
  }
}

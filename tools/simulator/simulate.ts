import type { FaultKind } from './virtual/faults.js';
import { violationsOf } from './checks/invariants.js';
import type { VirtualRedis } from './virtual/virtual-redis.js';
import { Workload } from './world/workload.js';
import { World, type WorldOptions } from './world/world.js';

/** The time for remaining work after the last run: the longest wait is the one for an ack. */
const REST_MS = 12_000;
const MAX_HEALTHY_MS = 20 * 60_000;
const FORGOTTEN_MS = 3 * 60_000;
const MAX_STEPS = 60_000;
/** Messages are given to runs under way in every history of so many. */
const STEERED_ONE_IN = 4;

export interface HistoryReport {
  readonly seed: number;
  readonly violations: readonly string[];
  /** Equal for equal histories. */
  readonly digest: string;
  readonly steps: number;
  readonly faults: readonly FaultKind[];
  readonly kills: number;
  readonly takeovers: number;
  /** Slots that subagent-pools took. */
  readonly slots: number;
  /** Effects that a failover repeated, which is not guaranteed against. */
  readonly repeats: number;
  readonly points: readonly string[];
  readonly killedAt: readonly string[];
  readonly trace: readonly string[];
}

/** Runs the history of a seed from its first request until all work has ended, and checks it. */
export async function simulate(seed: number, redis: VirtualRedis, options: WorldOptions): Promise<HistoryReport> {
  await redis.reset();
  const world = new World(seed, redis, options);
  const workload = new Workload(world, seed % STEERED_ONE_IN === 0);
  world.scheduler.note(`seed ${seed}: ${[...world.faults.on].join(', ')}`);
  world.start();
  workload.start();
  await world.scheduler.settle();
  const unfinished = await untilAtRest(world, workload);
  const violations = [...unfinished, ...(await violationsOf(world, workload, redis))];
  const { scheduler, faults, kills, history } = world;
  const repeats = faults.on.has('failover') ? world.ledger.repeatedElsewhere.length : 0;
  return {
    seed,
    violations,
    repeats,
    kills,
    digest: scheduler.digest,
    steps: scheduler.steps,
    trace: scheduler.lines,
    faults: [...faults.on],
    takeovers: history.takeovers,
    slots: history.slots.taken,
    points: [...faults.seenAt],
    killedAt: [...faults.killedAt],
  };
}

/** Runs with faults for a while, then without, until no work is left. */
async function untilAtRest(world: World, workload: Workload): Promise<readonly string[]> {
  const { scheduler, history } = world;
  const faultyUntilMs = scheduler.nowMs + world.random.between(15_000, 80_000);
  const isDone = (): boolean =>
    workload.open === 0 && [...history.accepted.keys()].every((runId) => history.ended.has(runId));
  const since: Since = { healthyMs: Infinity, doneMs: Infinity };
  while (scheduler.steps < MAX_STEPS) {
    if (!(await scheduler.step())) return ['nothing is left that could happen'];
    const done = isDone();
    if (since.healthyMs === Infinity && (done || scheduler.nowMs > faultyUntilMs)) {
      world.heal();
      since.healthyMs = Math.max(scheduler.nowMs, world.calmFromMs);
    }
    since.doneMs = done ? Math.min(since.doneMs, scheduler.nowMs) : Infinity;
    const ending = endOf(world, since);
    if (ending !== undefined) return ending;
  }
  return [`not at rest after ${MAX_STEPS} steps`];
}

interface Since {
  healthyMs: number;
  doneMs: number;
}

/** The violations at the end of the history; undefined while it runs. */
function endOf(
  { scheduler: { nowMs }, faults, calmFromMs }: World,
  { healthyMs, doneMs }: Since,
): readonly string[] | undefined {
  if (nowMs > Math.max(doneMs, calmFromMs) + REST_MS) return [];
  // A failover may lose runs, which then never end.
  if (faults.on.has('failover')) return nowMs > healthyMs + FORGOTTEN_MS ? [] : undefined;
  return nowMs > healthyMs + MAX_HEALTHY_MS ? ['not at rest 20 minutes after the last fault'] : undefined;
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startScriptedMcp, textResult, waitFor } from '@caribou/testing';
import { type Stack, startStack } from '../support/stack.js';
import { violationsOf } from './checker.js';
import { applyFaults, type FaultCounts, reviveCrashed } from './faults.js';
import { type Member, startFleet } from './fleet.js';
import { collectHistory, collectUsage, MODELS } from './collect-history.js';
import type { History, ProviderCall, Violation } from './history.js';
import { Journal } from './journal.js';
import { RetryingClient } from './retrying-client.js';
import { type FleetSize, planFaults } from './plan.js';
import { providerCallOf } from './provider-calls.js';
import { Random } from './random.js';
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
  /** Receives a line each minute, and some at the end. */
  readonly say: (line: string) => void;
}

export interface ChaosResult extends FaultCounts {
  readonly accepted: number;
  readonly terminal: number;
  readonly takeovers: number;
  readonly longestGapMs: number;
  readonly usage: UsageFigures;
  readonly violations: readonly Violation[];
}

/** Half of each request is reported as read from the provider's cache. */
const CACHED_SHARE = 0.5;
const MODEL_LINES = Object.entries(MODELS).map(
  ([name, model]) => `  - {name: ${name}, model: ${model}, pricing: {input: 2, cached_input: 1, output: 8}}\n`,
);
const CONFIG = `models:
${MODEL_LINES.join('')}title: {model_name: small}
memory:
  model_name: small
  debounce_seconds: 1
  max_facts: 500
  retry_base_delay_ms: 200
  retry_cap_delay_ms: 1000
tool_search: {enabled: false}
`;
const DRAIN_MS = 60_000;
const MINUTE_MS = 60_000;

interface Scene {
  readonly stack: Stack;
  readonly fleet: readonly Member[];
  readonly paid: readonly string[];
  /** The complete answers of the scripted model so far. */
  readonly answered: readonly ProviderCall[];
  readonly close: () => Promise<void>;
}

async function setScene(size: FleetSize): Promise<Scene> {
  const folder = await mkdtemp(join(tmpdir(), 'caribou-chaos-'));
  const paid: string[] = [];
  const mcp = await startScriptedMcp({ tools: { pay: payTool(paid) } });
  const path = join(folder, 'extensions_config.json');
  await writeFile(path, JSON.stringify({ mcpServers: { effects: { type: 'http', url: mcp.url } } }));
  const none = { gateways: 0, runners: 0, managers: 0 };
  // With `everysec` a killed Redis may have answered writes that are not in its file (docs/guarantees.md).
  const env = { CARIBOU_EXTENSIONS_CONFIG: path };
  const answered: ProviderCall[] = [];
  const model = {
    cachedShare: CACHED_SHARE,
    onAnswered: (...[request, tokens]: Parameters<typeof providerCallOf>) =>
      void answered.push(providerCallOf(request, tokens)),
  };
  const stack = await startStack({ ...none, config: CONFIG, env, model, fsync: 'always' });
  const fleet = await startFleet(stack, size);
  const close = async (): Promise<void> => {
    try {
      await stack.stop();
    } finally {
      await Promise.all([mcp.close(), ...fleet.map((member) => member.stopLinks())]);
      await rm(folder, { recursive: true, force: true });
    }
  };
  const isReady = async (): Promise<boolean> =>
    (await Promise.all(fleet.map(async ({ service }) => await service?.ready()))).every(
      (answer) => answer?.ok === true,
    );
  await waitFor(isReady, { what: 'all services to be ready', timeoutMs: 120_000, everyMs: 100 });
  return { stack, fleet, paid, answered, close };
}

type Tool = Parameters<typeof startScriptedMcp>[0]['tools'][string];
const payTool = (paid: string[]): Tool => ({
  inputSchema: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  call: async ({ word }) => {
    paid.push(String(word));
    await sleep(250);
    return textResult(`paid:${String(word)}`);
  },
});

/** Runs the product under work and faults, waits until all work has ended, and checks its guarantees on the history. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const scene = await setScene(options.fleet);
  const journal = new Journal();
  const counts: FaultCounts = { kills: 0, pauses: 0, restarts: 0, cuts: 0 };
  try {
    await work(options, { scene, journal, counts });
    const history = await historyOf(options, scene, journal);
    const violations = violationsOf(history);
    for (const violation of violations) options.say(`violation: ${JSON.stringify(violation)}`);
    const { terminal, takeovers, longestGapMs } = journal;
    const usage = usageFigures(history);
    return { ...counts, accepted: journal.runs.length, terminal, takeovers, longestGapMs, usage, violations };
  } finally {
    await scene.close();
  }
}

interface Course {
  readonly scene: Scene;
  readonly journal: Journal;
  readonly counts: FaultCounts;
}

const gatewaysOf =
  ({ fleet }: Scene) =>
  () =>
    fleet.flatMap(({ app, service }) => (app === 'gateway' && service !== undefined ? [service] : []));

async function work(options: ChaosOptions, { scene, journal, counts }: Course): Promise<void> {
  const { seed, durationMs, quietMs, lanes, patienceMs } = options;
  const incident = (what: string): void => journal.incident(what);
  const endMs = performance.now() + durationMs;
  const load: WorkloadOptions = {
    seed,
    lanes,
    journal,
    patienceMs,
    gateways: gatewaysOf(scene),
    isOver: () => performance.now() > endMs,
  };
  const minutes = setInterval(() => options.say(lineOf(journal, counts)), MINUTE_MS);
  try {
    const faults = planFaults(seed, durationMs - quietMs, options.fleet, options.meanPauseMs);
    const ports = { stack: scene.stack, fleet: scene.fleet, counts, incident, drainMs: DRAIN_MS };
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
  { kills, pauses, restarts, cuts }: FaultCounts,
): string =>
  `runs ${runs.length} accepted, ${terminal} terminal; ${kills} kills, ${pauses} pauses, ${restarts} restarts, ` +
  `${cuts} cuts; ${takeovers} takeovers; longest gap ${(longestGapMs / 1_000).toFixed(1)} s`;

async function historyOf(options: ChaosOptions, scene: Scene, journal: Journal): Promise<History> {
  const { stack, fleet, paid, answered } = scene;
  const random = new Random(options.seed, 'end');
  const client = new RetryingClient({ gateways: gatewaysOf(scene), random, journal, patienceMs: options.patienceMs });
  const remains = [...(await findLeftovers(stack, journal, options.settleMs))];
  const threads = await collectHistory(journal.runs, { stack, client, paid });
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

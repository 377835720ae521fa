import { waitFor } from '@caribou/testing';
import { violationsOf } from '../chaos/checker.js';
import { collectHistory, collectUsage } from '../chaos/collect-history.js';
import { collectFiles, linesAtGateway } from '../chaos/files/collect-files.js';
import type { History, LedgerCount, Violation } from '../chaos/history.js';
import { Journal } from '../chaos/journal.js';
import { findLeftovers, readRemembered } from '../chaos/leftovers.js';
import { Random } from '../chaos/random.js';
import { RetryingClient } from '../chaos/retrying-client.js';
import { turnsAfter, workload, type WorkloadOptions } from '../chaos/workload.js';
import {
  apiServerAway,
  drainNodes,
  etcdRestarted,
  type FaultPorts,
  quotaExceeded,
  randomLosses,
  rollEverything,
  scaleRunners,
  unpullableImage,
} from './faults.js';
import { deploymentOf, RELEASE, SANDBOX_LABEL, SANDBOXES, serverUrls, uninstall } from './installation.js';
import type { ClusterScene } from './scene.js';
import type { ClusterSettings, Phase } from './settings.js';

/** How long a request may be repeated, and a run may last: leases have production's lengths here. */
const PATIENCE_MS = 5 * 60_000;
const SETTLE_MS = 3 * 60_000;
const MEAN_PAUSE_MS = 4_000;
/** Longer than the drain of a manager. */
const ORPHANS_MS = 150_000;
const MINUTE_MS = 60_000;

export interface ScenarioResult {
  readonly accepted: number;
  readonly terminal: number;
  readonly takeovers: number;
  readonly turnsPerSecond: number;
  readonly longestGapMs: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly violations: readonly Violation[];
}

/** What is done to the cluster, in this order. */
const PHASES: Readonly<Record<Phase, (ports: FaultPorts) => Promise<void>>> = {
  scale: scaleRunners,
  roll: rollEverything,
  drain: drainNodes,
  image: unpullableImage,
  quota: quotaExceeded,
  api: apiServerAway,
  etcd: etcdRestarted,
  losses: (ports) => randomLosses(ports, ports.settings.minutes, MEAN_PAUSE_MS),
};
const CONTROL_PLANE: readonly Phase[] = ['api', 'etcd'];

/** Calls of models before the scenario: those of other tests on the same release. */
interface UsageBefore {
  readonly answered: number;
  readonly ledger: readonly LedgerCount[];
}

interface Course {
  readonly settings: ClusterSettings;
  readonly scene: ClusterScene;
  readonly journal: Journal;
  readonly say: (line: string) => void;
}

/** Works while everything that an operator or an accident does to a cluster is done to it, and checks all guarantees. */
export async function runScenario(course: Omit<Course, 'journal'>): Promise<ScenarioResult> {
  const journal = new Journal();
  const { say } = course;
  const counts: Record<string, number> = {};
  const client = clientOf({ ...course, journal }, 'begin');
  const before = { answered: course.scene.answered.length, ledger: await collectUsage(client) };
  const beganMs = performance.now();
  await work({ ...course, journal }, counts);
  const seconds = (performance.now() - beganMs) / 1_000;
  const history = await historyOf({ ...course, journal }, before);
  const violations = violationsOf(history);
  for (const violation of violations) say(`violation: ${JSON.stringify(violation)}`);
  const { terminal, takeovers, longestGapMs } = journal;
  const turnsPerSecond = Number((journal.runs.length / seconds).toFixed(2));
  return { accepted: journal.runs.length, terminal, takeovers, turnsPerSecond, longestGapMs, counts, violations };
}

async function work({ settings, scene, journal, say }: Course, counts: Record<string, number>): Promise<void> {
  const { seed, lanes, lab } = settings;
  let isOver = false;
  const load: WorkloadOptions = {
    ...{ seed, lanes, journal, hasStore: true, patienceMs: PATIENCE_MS },
    gateways: () => [scene.gateway],
    isOver: () => isOver,
  };
  const { kubectl, installation } = scene;
  const ports: FaultPorts = { kubectl, settings, installation, random: new Random(seed, 'cluster'), say, counts };
  const phase = async (title: string, run: (of: FaultPorts) => Promise<void>): Promise<void> => {
    const [before, beganMs] = [journal.runs.length, performance.now()];
    try {
      await run(ports);
    } catch (error) {
      journal.incident(`${title}: ${String(error)}`);
    }
    say(`${title}: ${Math.round((performance.now() - beganMs) / 1_000)} s, ${journal.runs.length - before} runs`);
  };
  const faults = async (): Promise<void> => {
    for (const name of settings.phases) {
      if (lab === undefined && CONTROL_PLANE.includes(name))
        say(`${name}: left out, as the cluster is not of this test`);
      else await phase(name, PHASES[name]);
    }
    isOver = true;
  };
  const lines = setInterval(
    () => say(`${journal.runs.length} runs, ${journal.terminal} ended; ${JSON.stringify(counts)}`),
    MINUTE_MS,
  );
  try {
    await Promise.all([workload(load), faults()]);
    await turnsAfter(load);
  } finally {
    clearInterval(lines);
  }
}

const clientOf = ({ settings, scene, journal }: Course, stream: string): RetryingClient =>
  new RetryingClient({
    gateways: () => [scene.gateway],
    random: new Random(settings.seed, stream),
    journal,
    patienceMs: PATIENCE_MS,
  });

/** The ledger without what was in it before. */
const since = (before: readonly LedgerCount[], now: readonly LedgerCount[]): readonly LedgerCount[] =>
  now.map((row) => {
    const old = before.find(({ agent, model }) => agent === row.agent && model === row.model);
    if (old === undefined) return row;
    return {
      ...{ agent: row.agent, model: row.model, calls: row.calls - old.calls },
      ...{ input: row.input - old.input, cached: row.cached - old.cached, output: row.output - old.output },
    };
  });

async function historyOf(course: Course, before: UsageBefore): Promise<History> {
  const { settings, scene, journal } = course;
  const gateways = () => [scene.gateway];
  const client = clientOf(course, 'end');
  const servers = await serverUrls(scene.kubectl);
  const remains = [...(await findLeftovers(servers, journal, SETTLE_MS))];
  const threads = await collectHistory(journal.runs, {
    client,
    paid: scene.paid,
    linesOf: (threadId, name) => linesAtGateway(client, threadId, name),
    filesOf: (threadId) => collectFiles(threadId, { journal, gateways, patienceMs: PATIENCE_MS }),
  });
  const remembered = await readRemembered(servers, journal);
  const usage = {
    answered: scene.answered.slice(before.answered),
    ledger: since(before.ledger, await collectUsage(client)),
    declined: journal.declined,
  };
  remains.push(...(await orphanPods(settings, scene)));
  return { threads, remembered, usage, remains, incidents: journal.incidents };
}

/** Pods of sandboxes that are there although no manager is; then the release is removed. */
async function orphanPods(settings: ClusterSettings, { kubectl }: ClusterScene): Promise<readonly string[]> {
  const left = () => kubectl.pods(SANDBOXES, SANDBOX_LABEL);
  await kubectl.run(['scale', '-n', RELEASE.namespace, deploymentOf('sandbox-manager'), '--replicas=0']);
  await waitFor(async () => (await left()).length === 0, {
    what: 'no sandbox',
    timeoutMs: ORPHANS_MS,
    everyMs: 1_000,
  }).catch(() => undefined); // What is left is returned.
  const orphans = (await left()).map(({ metadata: { name, labels } }) => `pod ${name} ${JSON.stringify(labels)}`);
  await uninstall(kubectl, settings);
  return orphans;
}

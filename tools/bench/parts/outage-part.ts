import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../bench.js';
import { type Fleet, startFleet } from '../fleet.js';
import { type Fault, FAULTS } from '../outage/faults.js';
import { countIn, type OutageFigures, outageFigures } from '../outage/outage-figures.js';
import { TurnLoad } from '../outage/turn-load.js';
import { type Budget, say } from '../report.js';
import { inTurn, median } from '../sample.js';

const TOKENS = 120;
const PACE_MS = 50;
/** Turns are under way everywhere after this time. */
const WARM_UP_MS = TOKENS * PACE_MS + 2_000;
/** The load continues for this long after a fault. */
const AFTER_MS = 4_000;
const DRAIN_MS = 60_000;

/** Faults of Redis and NATS while turns are under way: what becomes of the runs, and how many model calls are repeated. */
export async function outage({ times }: Bench): Promise<readonly Budget[]> {
  const fleet = await startFleet({ runnerSlots: 64, config: 'title: {enabled: false}\n' });
  const budgets: Budget[] = [];
  try {
    await fleet.start('agent-runner');
    say();
    say('Turns while a server fails');
    await inTurn(FAULTS.length, async (index) => {
      const fault = FAULTS[index];
      if (fault !== undefined) budgets.push(...(await measureFault(fleet, fault, times(60))));
    });
  } finally {
    await fleet.stop();
  }
  return budgets;
}

async function measureFault(fleet: Fleet, fault: Fault, lanes: number): Promise<readonly Budget[]> {
  await fetch(controlUrl(fleet, 'reset'), { method: 'POST' });
  const options = { apiUrl: fleet.apiUrl, lanes, tokens: TOKENS, paceMs: PACE_MS, toolEvery: 4, drainMs: DRAIN_MS };
  const load = new TurnLoad(options);
  await load.start();
  await sleep(WARM_UP_MS);
  const underWay = load.underWay();
  const beganMs = performance.now();
  await fault.run(fleet);
  const endedMs = performance.now();
  await sleep(AFTER_MS);
  const runs = await load.stop();
  const countCalls = countIn(await modelRequests(fleet));
  const figures = outageFigures({ runs, fault: { beganMs, endedMs, underWay }, tokens: TOKENS, countCalls });
  sayFigures(fault.name, figures, load);
  return [
    { what: `${fault.name}: runs lost`, value: figures.lost, unit: '', atMost: 0 },
    { what: `${fault.name}: broken streams`, value: figures.brokenStreams, unit: '', atMost: 0 },
    { what: `${fault.name}: repeated calls per run`, value: figures.repeatedShare, unit: '', atMost: 1.1 },
  ];
}

const controlUrl = (fleet: Fleet, path: string): string => `${new URL(fleet.modelUrl).origin}/control/${path}`;

async function modelRequests(fleet: Fleet): Promise<readonly { readonly body: unknown }[]> {
  const response = await fetch(controlUrl(fleet, 'requests?contains=%23tokens'));
  return (await response.json()) as readonly { readonly body: unknown }[];
}

function sayFigures(name: string, figures: OutageFigures, load: TurnLoad): void {
  const { accepted, byStatus, lost, underWay, repeatedCalls, repeatedShare, brokenStreams, resumedAfterMs } = figures;
  const statuses = Object.entries(byStatus).map(([status, count]) => `${count} ${status}`);
  const refused = [...load.refusals].map(([status, count]) => `${count} × ${status === 0 ? 'no answer' : status}`);
  const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
  say(
    `${name}: ${accepted} accepted (${statuses.join(', ')}), ${lost} lost, ${underWay} under way, ` +
      `${repeatedCalls} model calls repeated (${repeatedShare.toFixed(2)} per run under way), ` +
      `${brokenStreams} broken streams; text again after ${seconds(median(resumedAfterMs))} s, ` +
      `at most ${seconds(Math.max(0, ...resumedAfterMs))} s (${resumedAfterMs.length} runs); ` +
      `starts refused: ${refused.join(', ') || 'none'}`,
  );
}

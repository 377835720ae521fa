import type { CatchUp } from './due-time-rule.js';
import { openScene, type OutagePlan, type OutageResult, type OutageScene } from './outage-scene.js';
import { runOutage } from './outage-scenario.js';

/** A short outage by default; with minutes, `npm run outage`. */
const minutes = Number(process.env.OUTAGE_MINUTES ?? 0);
const isLong = minutes > 0;
const outageMs = isLong ? minutes * 60_000 : 12_000;
const PATIENCE_MS = 600_000;
const HOUR_MS = 3_600_000;

jest.setTimeout(outageMs + (isLong ? 3 : 0.5) * PATIENCE_MS);

const MIDDLE: OutagePlan['storesAway'] = [1 / 3, 2 / 3];
const ALL_OF_IT: OutagePlan['storesAway'] = [0, 1];

const planOf = (catchUp: CatchUp, catchUpMs: number, storesAway = MIDDLE): OutagePlan => ({
  catchUp,
  catchUpMs,
  outageMs,
  storesAway,
  ...(isLong ? { schedule: '* * * * *', stepMs: 60_000 } : { schedule: '* * * * * */3', stepMs: 3_000 }),
  stepsBefore: isLong ? 2 : 1,
  patienceMs: isLong ? PATIENCE_MS : 90_000,
  productionClocks: isLong,
  say: (line) => void (isLong && process.stderr.write(`${new Date().toISOString()} ${line}\n`)),
});

/** The last one leaves out the older half of what was due. */
const plans = isLong
  ? [
      planOf('latest', HOUR_MS),
      planOf('all', HOUR_MS, ALL_OF_IT),
      planOf('none', HOUR_MS),
      planOf('all', outageMs / 2, ALL_OF_IT),
    ]
  : [planOf('latest', HOUR_MS)];

const scenes: OutageScene[] = [];
afterAll(async () => {
  for (const scene of scenes) await scene.stop();
});

const lineOf = ({ catchUp, catchUpMs }: OutagePlan, { crons, ...rest }: OutageResult): string => {
  const counts = crons.map(({ started, late, replaced }) => ({
    started: started.length,
    late: late.length,
    replaced: replaced.length,
  }));
  return `${catchUp}, at most ${catchUpMs / 60_000} minutes late: ${JSON.stringify({ crons: counts, ...rest })}`;
};

test('all gateways are gone for a while, Redis and NATS for a part of it: each due time fares by the rule, each event arrives once', async () => {
  // One after the other: a machine with few processors starts some thirty processes.
  for (const plan of plans) scenes.push(await openScene(plan));
  const settled = await Promise.allSettled(scenes.map(runOutage));
  const results = settled.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
  for (const [index, result] of results.entries()) {
    const { plan } = scenes[index] ?? {};
    if (plan !== undefined) plan.say(lineOf(plan, result));
  }
  expect(results.flatMap(({ faults }) => faults)).toEqual([]);
  for (const [index, { crons }] of results.entries()) {
    const { catchUp = 'all', catchUpMs = 0 } = plans[index] ?? {};
    const leavesOut = catchUp !== 'all' || outageMs > catchUpMs;
    if (leavesOut) for (const { late, replaced } of crons) expect(late.length + replaced.length).toBeGreaterThan(0);
  }
});

import { setTimeout as delay } from 'node:timers/promises';
import type { CronReply, RunReply } from '@caribou/contracts';
import { redisCrons, type StoredCron } from '@caribou/state';
import { waitFor } from '@caribou/testing';
import { announcedBy, announcedRun, type ShiftedSystem } from '../support/shifted-system.js';
import { deliveryFaults, eventFaults, judgeCron } from './outage-checks.js';
import type { OutagePlan, OutageResult, OutageScene, WaitingRun } from './outage-scene.js';

/**
 * Lets crons, delayed runs and webhooks work, takes all gateways away for a while, and Redis and NATS for a part of it, brings
 * them back, and compares what became of each due time, run and event with what is documented.
 */
export async function runOutage(scene: OutageScene): Promise<OutageResult> {
  const { plan, system, receiver } = scene;
  const crons = await createCrons(system, plan);
  const announced = ({ cron_id: id }: CronReply) => announcedBy(receiver, id);
  await waitFor(() => crons.every((cron) => announced(cron).size >= plan.stepsBefore), {
    what: 'runs of each cron before the outage',
    timeoutMs: plan.stepMs * plan.stepsBefore + plan.patienceMs,
  });
  const delayed = await startDelayed(scene);
  const waiting = await leaveWaiting(scene);
  const returnedMs = await suffer(scene);
  await waitFor(() => crons.every((cron) => [...announced(cron).keys()].some((due) => due > returnedMs)), {
    what: 'runs of each cron after the outage',
    timeoutMs: plan.stepMs + plan.patienceMs,
    everyMs: 200,
  });
  const stored = await readUntilAhead(scene, crons);
  await system.stopCrons(
    crons.map(({ cron_id: id }) => id),
    plan.patienceMs,
  );
  const judged = await Promise.all(crons.map((cron, index) => judgeCron(scene, cron, stored[index])));
  /** Nothing can end then. */
  const isAllAway = plan.storesAway[0] === 0;
  const faults = [
    ...judged.flatMap(({ faults: found }) => found),
    ...eventFaults(scene, waiting, (event) => isAllAway || event.endedMs < returnedMs || 'did not end in the outage'),
    ...eventFaults(scene, delayed, (event, dueMs) => event.startedMs >= dueMs || 'started before its time'),
    ...deliveryFaults(receiver),
  ];
  const announcedRuns = receiver.accepted.size;
  return { faults, crons: judged, announcedRuns, waitingEvents: waiting.length, delayedRuns: delayed.length };
}

/** On threads of their own, which go or stay, and on one thread. */
async function createCrons(system: ShiftedSystem, { schedule }: OutagePlan): Promise<readonly CronReply[]> {
  const threadId = await system.client().newThread();
  return [
    await system.createCron('/runs/crons', { schedule }),
    await system.createCron('/runs/crons', { schedule, on_run_completed: 'keep' }),
    await system.createCron(`/threads/${threadId}/runs/crons`, { schedule }),
  ];
}

async function startRun({ system, receiver }: OutageScene, script: string, more: object = {}): Promise<string> {
  const threadId = await system.client().newThread();
  const body = { ...announcedRun(receiver, script), ...more };
  const answer = await system.client().call<RunReply>('POST', `/threads/${threadId}/runs`, body);
  if (answer.status !== 200) throw new Error(`a run was refused: ${JSON.stringify(answer.body)}`);
  return answer.body.run_id;
}

/** Runs whose times are spread over the outage. */
function startDelayed(scene: OutageScene): Promise<readonly WaitingRun[]> {
  const parts = [0.2, 0.4, 0.6, 0.8];
  return Promise.all(
    parts.map(async (part) => {
      const seconds = Math.ceil((scene.plan.outageMs * part) / 1_000);
      const askedMs = Date.now();
      const runId = await startRun(scene, '#say done', { after_seconds: seconds });
      return { runId, dueMs: askedMs + seconds * 1_000 };
    }),
  );
}

/** Tokens of runs that end while no gateway is there; 200 ms before each. */
const SLOW_TOKENS = 25;

/** Events that wait: of runs that the receiver refuses, and of runs that end in the outage. */
async function leaveWaiting(scene: OutageScene): Promise<readonly WaitingRun[]> {
  const { receiver, plan } = scene;
  const { refusals } = receiver;
  scene.isClosed = true;
  const refused = await Promise.all([1, 2, 3].map(() => startRun(scene, '#say refused')));
  await waitFor(() => receiver.refusals >= refusals + refused.length, {
    what: 'refusals of the receiver',
    timeoutMs: plan.patienceMs,
  });
  const slow = await Promise.all([1, 2, 3].map(() => startRun(scene, `#tokens ${SLOW_TOKENS} 200`)));
  await waitFor(() => scene.system.stack.model.requests('#tokens').length >= slow.length, {
    what: 'slow runs',
    timeoutMs: plan.patienceMs,
  });
  return [...refused, ...slow].map((runId) => ({ runId, dueMs: 0 }));
}

/** The outage. Returns when it ended, in ms since 1970. */
async function suffer(scene: OutageScene): Promise<number> {
  const { system, plan } = scene;
  const { redis, nats } = system.stack;
  await Promise.all(system.gateways().map(({ service }) => service.kill9()));
  plan.say(`${plan.catchUp}: all gateways are killed`);
  const [from, to] = plan.storesAway;
  await delay(plan.outageMs * from);
  await Promise.all([redis.kill9(), nats.kill9()]);
  plan.say(`${plan.catchUp}: Redis and NATS are killed`);
  await delay(plan.outageMs * (to - from));
  await Promise.all([redis.restart(), nats.restart()]);
  plan.say(`${plan.catchUp}: Redis and NATS are back`);
  await delay(plan.outageMs * (1 - to));
  scene.isClosed = false;
  const returnedMs = Date.now();
  for (const gateway of system.gateways()) await system.restart(gateway);
  plan.say(`${plan.catchUp}: three gateways are back`);
  return returnedMs;
}

/** The records of the crons, once all that was due is decided about. */
function readUntilAhead({ system, plan }: OutageScene, crons: readonly CronReply[]): Promise<readonly StoredCron[]> {
  const read = (): Promise<readonly StoredCron[]> =>
    system.withRedis((redis) => {
      const store = redisCrons(redis, { maxPerUser: 0 });
      return Promise.all(crons.map(({ cron_id: id }) => store.get('default', id)));
    });
  return waitFor(
    async () => {
      const stored = await read();
      return stored.every(({ dueMs }) => (dueMs ?? 0) > Date.now()) && stored;
    },
    { what: 'next due times in the future', timeoutMs: plan.patienceMs, everyMs: 200 },
  );
}

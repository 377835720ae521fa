import { setTimeout as delay } from 'node:timers/promises';
import type { RunReply, ScheduledTaskReply, ScheduledTaskRunReply } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import { nonce, nth } from '../support/stack.js';
import {
  announcedBy,
  announcedRun,
  minutesAhead,
  type ShiftedSystem,
  startShiftedSystem,
} from '../support/shifted-system.js';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.js';

jest.setTimeout(480_000);

const MINUTE = 60_000;
const STEP_MS = 3_000;
/** Every three seconds. */
const SCHEDULE = '* * * * * */3';

let receiver: WebhookReceiver;
let system: ShiftedSystem;

beforeAll(async () => {
  receiver = await startWebhookReceiver();
  system = await startShiftedSystem({
    receiver,
    crons: ['min_interval_seconds: 1', 'catch_up: all', `catch_up_ms: ${2 * MINUTE}`],
    webhooks: ['retry_ms: 200', 'timeout_ms: 1000'],
  });
});

afterAll(async () => {
  await system.stack.stop();
  receiver.stop();
});

const createCron = async (path: string, more: object = {}): Promise<string> =>
  (await system.createCron(path, { schedule: SCHEDULE, ...more })).cron_id;

const announced = (cronId: string): Map<number, string[]> => announcedBy(receiver, cronId);

/** A task of DeerFlow's page that is due every three seconds. */
async function createTask(script: string, more: object): Promise<string> {
  const due = { schedule_type: 'interval', schedule_spec: { every_seconds: STEP_MS / 1_000 }, timezone: 'UTC' };
  const asked = { title: 'Report', prompt: `${nonce()}\n${script}`, ...due, ...more };
  return (await system.client().call<ScheduledTaskReply>('POST', '/scheduled-tasks', asked)).body.id;
}

const getTask = async (id: string): Promise<ScheduledTaskReply> =>
  (await system.client().call<ScheduledTaskReply>('GET', `/scheduled-tasks/${id}`)).body;

/** The task has run as often as it may, each due time once. */
async function assertUsedUp(id: string, maxRuns: number): Promise<void> {
  expect(await getTask(id)).toMatchObject({ status: 'completed', automatic_runs_used: maxRuns, run_count: maxRuns });
  const { body: runs } = await system.client().call<ScheduledTaskRunReply[]>('GET', `/scheduled-tasks/${id}/runs`);
  const numbers = Array.from({ length: maxRuns }, (_, index) => maxRuns - index);
  expect(runs.filter(({ run_id }) => run_id !== null).map(({ run_number }) => run_number)).toEqual(numbers);
  expect(new Set(runs.map(({ scheduled_for }) => scheduled_for)).size).toBe(runs.length);
}

/** One run of the task has paused it, and later ones did not start. */
async function assertStopped(id: string): Promise<void> {
  const { body: runs } = await system.client().call<ScheduledTaskRunReply[]>('GET', `/scheduled-tasks/${id}/runs`);
  const stops = runs.flatMap(({ stop_requested_run_id }) => stop_requested_run_id ?? []);
  expect(stops).toHaveLength(1);
  expect(await getTask(id)).toMatchObject({ status: 'paused', last_error: `stopped by the agent in run ${stops[0]}` });
}

const stopCrons = (ids: readonly string[]): Promise<void> => system.stopCrons(ids, 180_000);

/** Without a hole, and each with one run. */
function assertComplete(due: ReadonlyMap<number, readonly string[]>): void {
  const times = [...due.keys()].sort((a, b) => a - b);
  const first = times[0] ?? 0;
  expect(times).toEqual(times.map((_, index) => first + index * STEP_MS));
  for (const runs of due.values()) expect(runs).toHaveLength(1);
}

test('processes with clocks a minute apart are killed while crons are due and webhooks fail: each due time ran once', async () => {
  const { processes, client } = system;
  const ahead = await Promise.all(processes.map(({ service }) => minutesAhead(service)));
  expect(ahead).toEqual(processes.map((one) => one.offsetMs / MINUTE));
  const threadIds = await Promise.all([1, 2].map(() => client().newThread()));
  const onThreads = await Promise.all(threadIds.map((id) => createCron(`/threads/${id}/runs/crons`)));
  const ids = [
    ...onThreads,
    await createCron('/runs/crons'),
    await createCron('/runs/crons', { on_run_completed: 'keep' }),
  ];
  const limited = await createTask('#say done', { max_runs: 3 });
  const stop = '#tool stop_scheduled_task {"reason":"It is out."}\n#say It is out.';
  const stopping = await createTask(stop, { stop_condition: 'the report is out' });
  const begunMs = Date.now();

  for (let round = 0; round < 2 * processes.length; round += 1) {
    await delay(700);
    await system.restart(nth(processes, round % processes.length));
  }
  await waitFor(() => ids.every((id) => announced(id).size >= 5), {
    what: 'five due times of each',
    timeoutMs: 60_000,
  });
  const ranMs = Date.now() - begunMs;
  await waitFor(async () => (await getTask(stopping)).status === 'paused', { what: 'the stop', timeoutMs: 60_000 });
  await stopCrons(ids);
  await assertUsedUp(limited, 3);
  await assertStopped(stopping);

  for (const id of ids) {
    const due = announced(id);
    assertComplete(due);
    expect(due.size).toBeGreaterThanOrEqual(Math.floor(ranMs / STEP_MS) - 1);
  }
  for (const [index, threadId] of threadIds.entries()) {
    const { body: runs } = await client().call<RunReply[]>('GET', `/threads/${threadId}/runs?limit=1000`);
    const started = runs.map(({ run_id }) => run_id).sort();
    expect(started).toEqual([...announced(nth(onThreads, index)).values()].flat().sort());
    expect(runs.every(({ status }) => status === 'success')).toBe(true);
  }
  expect(receiver.refusals).toBeGreaterThan(0);
});

test('Redis and NATS are killed while crons are due and webhooks fail: each due time ran once', async () => {
  const { stack, client } = system;
  const threadId = await client().newThread();
  const ids = [await createCron(`/threads/${threadId}/runs/crons`), await createCron('/runs/crons')];
  for (let round = 1; round <= 2; round += 1) {
    await waitFor(() => ids.every((id) => announced(id).size >= 2 * round), { what: 'due times', timeoutMs: 60_000 });
    await Promise.all([stack.redis.kill9(), stack.nats.kill9()]);
    await delay(2 * STEP_MS);
    await Promise.all([stack.redis.restart(), stack.nats.restart()]);
  }
  await waitFor(() => ids.every((id) => announced(id).size >= 8), {
    what: 'eight due times of each',
    timeoutMs: 90_000,
  });
  await stopCrons(ids);

  for (const id of ids) assertComplete(announced(id));
});

test('a delayed run survives the loss of every process and starts no earlier than its time, and its end is announced', async () => {
  const { processes, client } = system;
  const threadId = await client().newThread();
  const body = announcedRun(receiver);
  const path = `/threads/${threadId}/runs`;
  const askedMs = Date.now();
  const delayed = await client().call<RunReply>('POST', path, { ...body, after_seconds: 6 });
  const now = await client().call<RunReply>('POST', path, body);
  await waitFor(() => receiver.accepted.has(now.body.run_id), { what: 'the run that goes first' });
  expect((await client().call<RunReply>('GET', `${path}/${delayed.body.run_id}`)).body.status).toBe('pending');

  await Promise.all(processes.map(({ service }) => service.kill9()));
  for (const one of processes) await system.restart(one);
  await waitFor(() => receiver.accepted.has(delayed.body.run_id), { what: 'the delayed run', timeoutMs: 60_000 });

  const event = receiver.accepted.get(delayed.body.run_id);
  expect(event).toMatchObject({ status: 'success', values: { messages: expect.any(Array) } });
  expect(Date.parse(String(event?.['run_started_at']))).toBeGreaterThanOrEqual(askedMs + 6_000 - 50);
});

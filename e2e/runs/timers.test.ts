import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { CronReply, RunReply } from '@caribou/contracts';
import { createRedis } from '@caribou/state';
import { type TestService, waitFor } from '@caribou/testing';
import type { ApiClient } from '../support/client.js';
import { type AppName, clientOf, nonce, nth, type Stack, startStack } from '../support/stack.js';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.js';

jest.setTimeout(300_000);

const MINUTE = 60_000;
const STEP_MS = 2_000;
/** Every two seconds. */
const SCHEDULE = '* * * * * */2';

/** The processes of the system, whose clocks are a minute apart. */
const FLEET: readonly (readonly [app: AppName, offsetMs: number])[] = [
  ['gateway', 0],
  ['gateway', MINUTE],
  ['gateway', -MINUTE],
  ['agent-runner', MINUTE],
  ['agent-runner', -MINUTE],
];

let receiver: WebhookReceiver;
let stack: Stack;
let services: { readonly app: AppName; readonly offsetMs: number; service: TestService }[];

beforeAll(async () => {
  receiver = await startWebhookReceiver();
  stack = await startStack({
    fsync: 'always',
    gateways: 0,
    runners: 0,
    config: [
      'crons:',
      '  min_interval_seconds: 1',
      '  catch_up: all',
      `  catch_up_ms: ${2 * MINUTE}`,
      'webhooks:',
      `  allow: ["localhost:${receiver.port}"]`,
      '  retry_ms: 200',
      '  timeout_ms: 1000',
      '',
    ].join('\n'),
  });
  services = await Promise.all(
    FLEET.map(async ([app, offsetMs]) => ({ app, offsetMs, service: await startShifted(app, offsetMs) })),
  );
});
afterAll(async () => {
  await stack.stop();
  receiver.stop();
});

const startShifted = (app: AppName, offsetMs: number, env: Readonly<Record<string, string>> = {}) =>
  stack.start(app, {
    NODE_OPTIONS: `--require ${resolve('e2e/support/clock-offset.cjs')}`,
    TEST_CLOCK_OFFSET_MS: String(offsetMs),
    ...env,
  });

/** The path of a configuration whose rule for missed due times is "latest". */
async function configOfLatest(): Promise<string> {
  const config = await readFile(join(stack.homeDir, 'config.yaml'), 'utf8');
  expect(config).toContain('catch_up: all');
  const path = join(stack.homeDir, 'latest.yaml');
  await writeFile(path, config.replace('catch_up: all', 'catch_up: latest'));
  return path;
}

/** How far the clock of a service is ahead, in whole minutes, by its first log line. */
function minutesAhead(service: TestService): number {
  const [, time = ''] = /"time":"([^"]+)"/.exec(service.output()) ?? [];
  return Math.round((Date.parse(time) - Date.now()) / MINUTE) || 0;
}

const gateways = () => services.filter(({ app }) => app === 'gateway');
const client = (): ApiClient => clientOf(nth(gateways(), 0).service);

async function restart(index: number): Promise<void> {
  const one = nth(services, index);
  await one.service.kill9();
  one.service = await startShifted(one.app, one.offsetMs);
}

const cronBody = () => ({
  assistant_id: 'lead_agent',
  schedule: SCHEDULE,
  input: { messages: [{ type: 'human', content: `${nonce()}\n#say done` }] },
  webhook: receiver.url,
});

async function createCron(path: string, more: object = {}): Promise<string> {
  const { body } = await client().call<CronReply>('POST', path, { ...cronBody(), ...more });
  return body.cron_id;
}

/** The runs of a cron that webhooks have announced: due time (ms) → ids of runs. */
function announced(cronId: string): Map<number, string[]> {
  const found = new Map<number, string[]>();
  for (const { run_id: runId, metadata } of receiver.accepted.values()) {
    const { cron_id: of, scheduled_for: due } = metadata as Readonly<Record<string, string>>;
    if (of === cronId) found.set(Date.parse(due ?? ''), [...(found.get(Date.parse(due ?? '')) ?? []), String(runId)]);
  }
  return found;
}

/** The outbox and the due set are empty, and no run is under way. */
async function isQuiet(): Promise<boolean> {
  const redis = createRedis({ url: stack.redis.url });
  try {
    const { keys } = redis;
    const counts = await redis.use((all) =>
      Promise.all([keys.outbox('default').all, keys.pending, keys.cron('x', 'x').due].map((key) => all.zcard(key))),
    );
    return counts.every((count) => count === 0);
  } finally {
    await redis.close();
  }
}

async function stopCrons(ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const { body } = await client().call<CronReply>('PATCH', `/runs/crons/${id}`, { enabled: false });
    expect(body.next_run_date).toBeNull();
  }
  await waitFor(isQuiet, { what: 'the end of all runs and deliveries', timeoutMs: 90_000 });
}

/** Without a hole, and each with one run. */
function assertComplete(due: ReadonlyMap<number, readonly string[]>): void {
  const times = [...due.keys()].sort((a, b) => a - b);
  const first = times[0] ?? 0;
  expect(times).toEqual(times.map((_, index) => first + index * STEP_MS));
  for (const runs of due.values()) expect(runs).toHaveLength(1);
}

test('processes with clocks a minute apart are killed while crons are due and webhooks fail: each due time ran once', async () => {
  expect(services.map(({ service }) => minutesAhead(service))).toEqual(FLEET.map(([, ms]) => ms / MINUTE));
  const threadIds = await Promise.all([1, 2].map(() => client().newThread()));
  const onThreads = await Promise.all(threadIds.map((id) => createCron(`/threads/${id}/runs/crons`)));
  const ids = [
    ...onThreads,
    await createCron('/runs/crons'),
    await createCron('/runs/crons', { on_run_completed: 'keep' }),
  ];
  const begunMs = Date.now();

  for (let round = 0; round < 2 * FLEET.length; round += 1) {
    await delay(700);
    await restart(round % FLEET.length);
  }
  await waitFor(() => ids.every((id) => announced(id).size >= 5), {
    what: 'five due times of each',
    timeoutMs: 60_000,
  });
  const ranMs = Date.now() - begunMs;
  await stopCrons(ids);

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

test('after an outage of all gateways the rule "latest" starts one run, for the newest due time', async () => {
  const CARIBOU_CONFIG = await configOfLatest();
  const id = await createCron('/runs/crons');
  await waitFor(() => announced(id).size >= 1, { what: 'a run before the outage', timeoutMs: 30_000 });

  await Promise.all(gateways().map(({ service }) => service.kill9()));
  const downMs = Date.now();
  await delay(4 * STEP_MS);
  const upMs = Date.now();
  for (const one of gateways()) one.service = await startShifted('gateway', one.offsetMs, { CARIBOU_CONFIG });
  await waitFor(() => [...announced(id).keys()].some((due) => due > upMs + STEP_MS), {
    what: 'runs after it',
    timeoutMs: 60_000,
  });
  await stopCrons([id]);

  const due = announced(id);
  for (const runs of due.values()) expect(runs).toHaveLength(1);
  const times = [...due.keys()].sort((a, b) => a - b);
  const after = times.find((time) => time > downMs) ?? 0;
  // What was due while nobody was there is one run, whose due time is at most one step older than the return.
  expect(after).toBeGreaterThan(upMs - STEP_MS);
  const { body } = await client().call<CronReply[]>('POST', '/runs/crons/search', {});
  expect(body.filter(({ cron_id }) => cron_id === id)).toMatchObject([{ last_error: null }]);
});

test('a delayed run survives the loss of every process and starts no earlier than its time, and its end is announced', async () => {
  const threadId = await client().newThread();
  const { schedule: _schedule, ...body } = cronBody();
  const path = `/threads/${threadId}/runs`;
  const askedMs = Date.now();
  const delayed = await client().call<RunReply>('POST', path, { ...body, after_seconds: 6 });
  const now = await client().call<RunReply>('POST', path, body);
  await waitFor(() => receiver.accepted.has(now.body.run_id), { what: 'the run that goes first', timeoutMs: 30_000 });
  expect((await client().call<RunReply>('GET', `${path}/${delayed.body.run_id}`)).body.status).toBe('pending');

  await Promise.all(services.map(({ service }) => service.kill9()));
  for (const one of services) one.service = await startShifted(one.app, one.offsetMs);
  await waitFor(() => receiver.accepted.has(delayed.body.run_id), { what: 'the delayed run', timeoutMs: 60_000 });

  const event = receiver.accepted.get(delayed.body.run_id);
  expect(event).toMatchObject({ status: 'success', values: { messages: expect.any(Array) } });
  expect(Date.parse(String(event?.['run_started_at']))).toBeGreaterThanOrEqual(askedMs + 6_000 - 50);
});

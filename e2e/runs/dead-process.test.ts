import { LEAD_AGENT } from '@caribou/contracts';
import { createRedis, redisMemoryStore } from '@caribou/state';
import { type TestService, waitFor } from '@caribou/testing';
import { type ApiClient, lastValues, runBody } from '../support/client.js';
import { type AppName, nonce, type Stack, startStack } from '../support/stack.js';
import { taskEvents, taskLines, WITH_SUBAGENTS } from '../support/task-client.js';

jest.setTimeout(120_000);

/**
 * Leases of runs, slots and extractions, redeliveries and sweeps take longer than the test may last: a process that takes
 * over before has seen that the other one is dead.
 */
const LONG_LEASES = `clocks:
  lease_ms: 300000
  renew_ms: 1000
  ack_wait_ms: 300000
  sweep_ms: 300000
  process_lease_ms: 2000
  process_renew_ms: 200
memory:
  debounce_seconds: 1
`;
/** Far below the leases, far above the lease of a process. */
const WITHIN_MS = 60_000;

let stack: Stack;
let client: ApiClient;
const started: TestService[] = [];

beforeAll(async () => {
  stack = await startStack({ productionClocks: true, runners: 0, config: LONG_LEASES });
  client = stack.client();
});

afterAll(() => stack.stop());

afterEach(async () => {
  await Promise.all(started.splice(0).map((service) => service.kill9()));
  stack.model.reset();
});

/** Starts a service, and a second one once the first has work. */
async function start(app: AppName): Promise<TestService> {
  const service = await stack.start(app);
  started.push(service);
  return service;
}

const holds = (count: number): Promise<unknown> =>
  waitFor(() => stack.model.listHolds().length === count, { what: `${count} held calls` });

test('a runner: others continue all its runs, long before their leases lapse', async () => {
  const victim = await start('agent-runner');
  const runs = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const threadId = await client.newThread();
      return client.run(threadId, `${nonce()}\n#hold model before times=1\n#say it went on`);
    }),
  );
  await holds(4);
  await start('agent-runner');
  await start('agent-runner');

  await victim.kill9();

  for (const run of runs) {
    const frames = await run.end(WITHIN_MS);
    expect(frames.at(-1)?.event).toBe('end');
    expect(lastValues(frames).at(-1)?.content).toBe('it went on');
  }
});

test('a subagent-pool: another continues its task, in a slot of its own', async () => {
  await start('agent-runner');
  const victim = await start('subagent-pool');
  const threadId = await client.newThread();
  const task = `${nonce()}\n#hold model before times=1\n#say the task went on`;
  const run = await client.run(threadId, `${taskLines(task)}\n#say all of it`, WITH_SUBAGENTS);
  await holds(1);
  await start('subagent-pool');

  await victim.kill9();

  const frames = await run.end(WITHIN_MS);
  expect(taskEvents(frames).map(({ type }) => type)).toContain('task_completed');
  expect(lastValues(frames).at(-1)?.content).toBe('all of it');
});

test('a memory-worker: the thread that it read is read by another', async () => {
  await start('agent-runner');
  const victim = await start('memory-worker');
  const word = nonce();
  const threadId = await client.newThread();
  const text = `#say ok\nI live in Oslo ${word} memory-hold:reading`;
  expect((await client.call('POST', `/threads/${threadId}/runs/wait`, runBody(text))).status).toBe(200);
  await holds(1);
  await start('memory-worker');

  await victim.kill9();
  const readings = () =>
    stack.model.requests(word).filter(({ body }) => JSON.stringify(body).includes('<conversation>'));
  await waitFor(() => readings().length === 2, { what: 'the second reading', timeoutMs: WITHIN_MS });

  const redis = createRedis({ url: stack.redis.url });
  const memories = redisMemoryStore(redis);
  const isRemembered = async (): Promise<boolean> => {
    stack.model.release('reading');
    return JSON.stringify(await memories.read({ userId: 'default', agent: LEAD_AGENT })).includes(word);
  };
  await waitFor(isRemembered, { what: 'the fact', timeoutMs: WITHIN_MS });
  await redis.close();
});

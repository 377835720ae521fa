import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRedis, type RedisConnection } from '@caribou/state';
import { startProxy, type TestProxy, type TestService, waitFor } from '@caribou/testing';
import { ApiClient, lastValues, runBody } from '../support/client.js';
import { filesNaming, keysNaming } from '../support/leftovers.js';
import { nth, type Stack, startStack } from '../support/stack.js';
import { taskLine, WITH_SUBAGENTS } from '../support/task-client.js';

jest.setTimeout(120_000);

/** Long enough that no compressed value has one by chance. */
const USERS = ['first', 'alice', 'benedetta', 'cleopatra', 'dorothea', 'emiliano', 'finnegan'] as const;
type User = (typeof USERS)[number];
/** So many that their removal is seen while it takes place. */
const FILES = 10_000;
const keyFor = (user: string): string => `key-of-${user}`;
/** A text that the user of a test writes everywhere. */
let secret = '';
const MEMORY = 'memory:\n  debounce_seconds: 1\n  worker_slots: 1\n';

let stack: Stack;
let redis: RedisConnection;
let proxies: TestProxy[] = [];
let doomed: TestService[] = [];

beforeAll(async () => {
  stack = await startStack({
    pools: 1,
    config: MEMORY,
    sandbox: ['reap_ms: 500'],
    env: { CARIBOU_API_KEYS: USERS.map((user) => `${keyFor(user)}:${user}`).join(',') },
  });
  redis = createRedis({ url: stack.redis.url });
  // A script that Redis does not know yet is sent twice; where a hold takes the first message, nothing has run.
  expect((await steady('first').call('DELETE', '/users/me')).status).toBe(204);
});
beforeEach(() => {
  secret = `secret-${crypto.randomUUID()}`;
});
afterAll(async () => {
  await redis.close();
  await stack.stop();
});
afterEach(async () => {
  nth(stack.gateways, 0).resume();
  await Promise.all(doomed.map((service) => service.kill9()));
  await Promise.all(proxies.map((proxy) => proxy.stop()));
  [doomed, proxies] = [[], []];
  stack.model.reset();
});

const clientOf = (gateway: TestService, user: User): ApiClient =>
  new ApiClient(`http://127.0.0.1:${gateway.healthPort}/api`, { 'x-api-key': keyFor(user) });
const steady = (user: User): ApiClient => clientOf(nth(stack.gateways, 0), user);
const userDir = (user: User): string => join(stack.homeDir, 'data', 'users', user);
const dataDir = (user: User, threadId: string): string => join(userDir(user), 'threads', threadId, 'user-data');
const bash = (command: string): string => `#tool bash ${JSON.stringify({ description: 'a test', command })}`;

async function upload(user: User, threadId: string): Promise<void> {
  const form = new FormData();
  form.append('files', new Blob([secret]), 'secret.txt');
  form.append('files', new Blob([`<h1>${secret}</h1>`]), 'secret.html');
  const headers = { 'x-api-key': keyFor(user) };
  const answer = await fetch(`${steady(user).base}/threads/${threadId}/uploads`, {
    method: 'POST',
    body: form,
    headers,
  });
  expect(answer.status).toBe(200);
}

/** A thread with messages, a task, uploads and files of its commands. */
async function usedThread(user: User): Promise<string> {
  const client = steady(user);
  const threadId = await client.newThread();
  await upload(user, threadId);
  const write = `mkdir -p deep/er; for d in . deep/er ../outputs ../uploads; do echo ${secret} > $d/made; done; chmod 0 deep`;
  const script = `${taskLine(`#say ${secret}`)}\n${bash(write)}\n#say ${secret}`;
  const stream = await client.run(threadId, script, WITH_SUBAGENTS);
  expect(lastValues(await stream.end(60_000)).at(-1)?.content).toBe(secret);
  expect((await keysNaming(redis, threadId)).length).toBeGreaterThan(8);
  return threadId;
}

/** A gateway that reaches the store through a proxy, while the other one is paused. */
async function doomedGateway(): Promise<{ gateway: TestService; proxy: TestProxy }> {
  const proxy = await startProxy({ target: stack.redis.port });
  proxies.push(proxy);
  const gateway = await stack.start('gateway', { REDIS_URL: stack.urlOf('gateway', 'redis', proxy.port) });
  doomed.push(gateway);
  await waitFor(async () => (await gateway.ready()).ok, { what: 'the gateway to be ready' });
  nth(stack.gateways, 0).pause();
  return { gateway, proxy };
}

const isWaiting = async (member: string): Promise<boolean> =>
  (await redis.use((client) => client.hexists('caribou:erasing', member))) === 1;

/** Requests a deletion, and kills the gateway when the hold has stopped its connection. */
async function killDuring(
  client: ApiClient,
  path: string,
  { gateway, hold }: { gateway: TestService; hold: Pick<ReturnType<TestProxy['hold']>, 'reached'> },
) {
  const asked = client.call('DELETE', path).then(
    ({ status }) => status,
    () => 'broken off',
  );
  await hold.reached;
  return async (): Promise<void> => {
    await gateway.kill9();
    expect(await asked).toBe('broken off');
  };
}

const nothingNames = (...ids: readonly string[]): Promise<unknown> =>
  waitFor(
    async () => {
      for (const id of ids) expect(await keysNaming(redis, id)).toEqual([]);
      expect(filesNaming(stack, ...ids, secret)).toEqual([]);
      return true;
    },
    { what: `nothing to name ${ids.join(', ')}`, timeoutMs: 60_000, everyMs: 200 },
  );

/** A new thread of the id: no messages, no files for its routes and none for its commands. */
async function expectNew(user: User, threadId: string): Promise<void> {
  const client = steady(user);
  expect((await client.call('GET', `/threads/${threadId}`)).status).toBe(404);
  expect((await client.call('POST', '/threads', { thread_id: threadId })).status).toBe(200);
  expect((await client.call('GET', `/threads/${threadId}/uploads/list`)).body).toMatchObject({ files: [], count: 0 });
  expect((await client.call('GET', `/threads/${threadId}/runs`)).body).toEqual([]);
  const stream = await client.run(threadId, `${bash('cd /mnt/user-data; find . -mindepth 2; echo seen')}\n#say Done.`);
  const messages = lastValues(await stream.end(60_000));
  expect(messages.map(({ type }) => type)).toEqual(['human', 'ai', 'tool', 'ai']);
  expect(messages.find(({ type }) => type === 'tool')?.content).toBe('seen\n');
}

describe('DELETE of a thread whose gateway is killed', () => {
  test('before the store has the request: nothing is deleted, and it can be repeated', async () => {
    const threadId = await usedThread('alice');
    const { gateway, proxy } = await doomedGateway();
    const hold = proxy.hold('request', { bytes: (seen) => seen.includes(`caribou:conversions:alice:${threadId}`) });
    const kill = await killDuring(clientOf(gateway, 'alice'), `/threads/${threadId}`, { gateway, hold });
    await kill();
    nth(stack.gateways, 0).resume();

    expect(existsSync(join(dataDir('alice', threadId), 'outputs', 'made'))).toBe(true);
    expect((await steady('alice').call('GET', `/threads/${threadId}/state`)).status).toBe(200);
    expect((await steady('alice').call('DELETE', `/threads/${threadId}`)).status).toBe(204);
    await nothingNames(threadId);
    await expectNew('alice', threadId);
  });

  test('between records and files, with the sandbox-manager dead as well: another gateway completes it', async () => {
    const threadId = await usedThread('alice');
    const { gateway, proxy } = await doomedGateway();
    await nth(stack.managers, 0).kill9();
    const bytes = (seen: Buffer): boolean => seen.includes(`caribou:conversions:alice:${threadId}`);
    const hold = proxy.hold('reply', { in: 'request', bytes });
    const kill = await killDuring(clientOf(gateway, 'alice'), `/threads/${threadId}`, { gateway, hold });
    await waitFor(() => isWaiting(`alice/${threadId}`), { what: 'the records to go' });
    await kill();

    expect(existsSync(join(dataDir('alice', threadId), 'outputs', 'made'))).toBe(true);
    await stack.start('sandbox-manager');
    nth(stack.gateways, 0).resume();
    await nothingNames(threadId);
    await expectNew('alice', threadId);
  });

  test('between moving the files and recording that: a restarted gateway completes it', async () => {
    const threadId = await usedThread('alice');
    const { gateway, proxy } = await doomedGateway();
    const hold = proxy.hold('request', { bytes: (seen) => seen.includes(`alice.${threadId}.`) });
    const kill = await killDuring(clientOf(gateway, 'alice'), `/threads/${threadId}`, { gateway, hold });
    await kill();

    expect([existsSync(dataDir('alice', threadId)), await isWaiting(`alice/${threadId}`)]).toEqual([false, true]);
    expect(filesNaming(stack, secret)).not.toEqual([]);
    const again = await stack.start('gateway');
    await nothingNames(threadId);
    await again.kill9();
    nth(stack.gateways, 0).resume();
    await expectNew('alice', threadId);
  });

  test('while it removes the files: another one removes the rest', async () => {
    const threadId = await usedThread('alice');
    const many = join(dataDir('alice', threadId), 'workspace', 'many');
    mkdirSync(many);
    for (let file = 0; file < FILES; file += 1) writeFileSync(join(many, String(file)), secret);
    const { gateway } = await doomedGateway();
    const aside = join(stack.homeDir, 'data', 'users', '.erased');
    const before = new Set(readdirSync(aside));
    expect((await clientOf(gateway, 'alice').call('DELETE', `/threads/${threadId}`)).status).toBe(204);
    const moved = readdirSync(aside).find((name) => !before.has(name)) ?? 'nothing';
    const left = (): number =>
      readdirSync(join(aside, moved), { recursive: true }).filter((name) => /\/\d+$/.test(String(name))).length;
    await waitFor(() => left() < FILES, { what: 'the removal to begin', everyMs: 1, timeoutMs: 20_000 });
    gateway.pause();
    expect(left()).toBeGreaterThan(0);
    await gateway.kill9();

    nth(stack.gateways, 0).resume();
    await nothingNames(threadId);
    await expectNew('alice', threadId);
  });
});

describe('DELETE of a user whose gateway is killed', () => {
  /** The message of the store or the gateway at the point, and the direction in which it is held. */
  const POINTS: readonly (readonly [string, User, 'request' | 'reply', (user: User, second: string) => string])[] = [
    ['as soon as it is accepted', 'benedetta', 'reply', (user) => `caribou:user:${user}:in-flight`],
    [
      'between one thread and the next',
      'cleopatra',
      'request',
      (user, second) => `caribou:conversions:${user}:${second}`,
    ],
    ['between threads and files', 'dorothea', 'reply', (user) => `caribou:user:${user}:memory:agents`],
    ['between files and what else is known of him', 'emiliano', 'request', (user) => `caribou:user:${user}:souls`],
    ['before it can say that the files are moved', 'finnegan', 'request', (user) => `${user}.17`],
  ];

  test.each(POINTS)('%s: another one completes it', async (_point, user, direction, text) => {
    const [first, second] = [await usedThread(user), await usedThread(user)];
    const neverMade = crypto.randomUUID();
    await upload(user, neverMade);
    await steady(user).call('PUT', '/user-profile', { content: secret });
    const { gateway, proxy } = await doomedGateway();
    const wanted = text(user, second);
    const hold = proxy.hold(direction, { in: 'request', bytes: (seen) => seen.includes(wanted) });
    const kill = await killDuring(clientOf(gateway, user), '/users/me', { gateway, hold });
    await waitFor(() => isWaiting(user), { what: 'the erasure to begin' });
    await kill();

    nth(stack.gateways, 0).resume();
    await nothingNames(user, first, second, neverMade);
    await expectNew(user, first);
  });
});

describe('services that are killed around a deletion', () => {
  test.each(['request', 'reply'] as const)(
    'the runner at the end of a stateless run, its last %s lost: files go at once, records have a deadline',
    async (direction) => {
      await Promise.all(stack.runners.map((runner) => runner.kill9()));
      const proxy = await startProxy({ target: stack.redis.port });
      proxies.push(proxy);
      const runner = await stack.start('agent-runner', { REDIS_URL: stack.urlOf('agent-runner', 'redis', proxy.port) });
      const end = proxy.hold(direction, { in: 'request', bytes: (seen) => seen.includes('"journal_ttl_ms"') });
      const script = `${bash(`echo ${secret} > made; echo ${secret} > ../outputs/made`)}\n#say ${secret}`;
      const body = runBody(script, { on_completion: 'delete' });
      const { body: run } = await steady('alice').call<{ run_id: string; thread_id: string }>('POST', '/runs', body);
      await end.reached;
      await runner.kill9();
      stack.runners.push(await stack.start('agent-runner'));

      await waitFor(() => filesNaming(stack, run.thread_id, secret).length === 0, {
        what: 'no file',
      });
      const lasting = async (): Promise<string[]> => {
        const keys = await keysNaming(redis, run.thread_id);
        const times = await redis.use((client) => Promise.all(keys.map((key) => client.pttl(key))));
        return keys.filter((_, at) => times[at] === -1);
      };
      await waitFor(async () => (await lasting()).length === 0, { what: 'deadlines' });
      const path = `/threads/${run.thread_id}`;
      expect((await steady('alice').call('GET', `${path}/runs/${run.run_id}`)).body).toMatchObject({
        status: 'success',
      });
      expect((await steady('alice').call('GET', `${path}/uploads/list`)).body).toMatchObject({ files: [] });
    },
  );

  const say = async (user: User, threadId: string, text: string): Promise<void> => {
    const { status } = await steady(user).call('POST', `/threads/${threadId}/runs/wait`, runBody(`#say ok\n${text}`));
    expect(status).toBe(200);
  };
  const memoryOf = async (user: User): Promise<string> =>
    JSON.stringify((await steady(user).call('GET', '/memory')).body);
  const held = (gate: string): Promise<unknown> =>
    waitFor(() => stack.model.listHolds().some(({ name }) => name === gate), { what: `the hold ${gate}` });

  test('the memory-worker while it reads the thread: the next one finds nothing to read', async () => {
    const worker = await stack.start('memory-worker');
    const threadId = await steady('alice').newThread();
    await say('alice', threadId, `Remember: ${secret} memory-hold:thread`);
    await held('thread');
    worker.pause();
    expect((await steady('alice').call('DELETE', `/threads/${threadId}`)).status).toBe(204);
    await worker.kill9();
    stack.model.release('thread');
    const next = await stack.start('memory-worker');
    const other = await steady('alice').newThread();
    await say('alice', other, 'I like tea');
    await waitFor(async () => (await memoryOf('alice')).includes('tea'), { what: 'the memory' });
    expect(await memoryOf('alice')).not.toContain(secret);
    await nothingNames(threadId);
    await next.kill9();
  });

  test('a memory-worker that was paused while a user was erased writes nothing about the user afterwards', async () => {
    const worker = await stack.start('memory-worker');
    const threadId = await steady('benedetta').newThread();
    await say('benedetta', threadId, `Remember: ${secret} memory-hold:user`);
    await held('user');
    worker.pause();
    expect((await steady('benedetta').call('DELETE', '/users/me')).status).toBe(204);
    stack.model.release('user');
    worker.resume();
    const other = await steady('alice').newThread();
    await say('alice', other, 'I like boats');
    await waitFor(async () => (await memoryOf('alice')).includes('boats'), { what: 'the memory' });
    await nothingNames('benedetta', threadId);
    await worker.kill9();
  });
});

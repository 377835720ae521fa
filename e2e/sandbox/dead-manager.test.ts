import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentLogger } from '@caribou/core';
import { createRedis } from '@caribou/state';
import { startProxy, type TestService, waitFor, waitForOutput } from '@caribou/testing';
import { runIdOf } from '../support/client.js';
import { nonce, type Stack, startStack } from '../support/stack.js';
import { linesOf } from '../support/threads-on-disk.js';

jest.setTimeout(240_000);

const WITHIN_MS = 120_000;
/** A manager has found the process of another one to be gone, instead of waiting for its lease to lapse. How soon: the bench. */
const RELEASED = '"event":"manager.release","outcome":"ok"';

/**
 * A command that writes down its begin and its end. As long as any of its processes lives it holds a lock of the
 * kernel, so a command that begins while another one of the thread still runs writes that down.
 */
const command = (word: string, seconds: number): string =>
  [
    'exec 9>>lock; flock -n 9 || echo overlap >> ledger',
    `echo ${word} begins >> ledger; sleep ${seconds}; echo ${word} ends >> ledger; echo ${word} is done`,
  ].join('; ');

const turn = (word: string, seconds = 0): string =>
  `${nonce()}\n#tool bash ${JSON.stringify({ description: 'a test', command: command(word, seconds) })}\n#say done`;

let stack: Stack;
let redis: ReturnType<typeof createRedis>;
let threadId: string;
const started: TestService[] = [];

beforeAll(async () => {
  stack = await startStack({ productionClocks: true, managers: 0, config: 'clocks:\n  sweep_ms: 1000\n' });
  redis = createRedis({ url: stack.redis.url, logger: silentLogger });
});
afterAll(async () => {
  await redis.close();
  await stack.stop();
});
beforeEach(async () => {
  threadId = await stack.client().newThread();
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((service) => service.kill9()));
});

/** When the leases of all managers end, by manager. */
async function leaseEnds(): Promise<ReadonlyMap<string, string>> {
  const all = await redis.use((connection) => connection.zrange(redis.keys.managers, 0, -1, 'WITHSCORES'));
  return new Map(all.flatMap((manager, at) => (at % 2 === 0 ? [[manager, all[at + 1] ?? '']] : [])));
}

/**
 * Starts a manager. What it returns resolves when the manager has just renewed its lease: 9 s of it are left then; at other times,
 * what is left depends on how slow the machine is.
 */
async function startRenewing(): Promise<{ readonly manager: TestService; readonly renewed: () => Promise<void> }> {
  const before = await leaseEnds();
  const manager = await startManager();
  const id = [...(await leaseEnds()).keys()].find((each) => !before.has(each)) ?? '';
  const renewed = async (): Promise<void> => {
    const end = (await leaseEnds()).get(id);
    expect(end).toBeDefined();
    await waitFor(async () => (await leaseEnds()).get(id) !== end, { what: 'a renewal', timeoutMs: WITHIN_MS });
  };
  return { manager, renewed };
}

async function startManager(env: Readonly<Record<string, string>> = {}): Promise<TestService> {
  const manager = await stack.start('sandbox-manager', env);
  started.push(manager);
  await waitFor(async () => (await manager.ready()).ok, { what: 'a manager to be ready' });
  return manager;
}

const ledger = (): readonly string[] => linesOf(stack, threadId, 'ledger');

/** Starts a turn with a command and waits until the command runs. */
async function beginTurn(word: string, seconds: number) {
  const stream = await stack.client().run(threadId, turn(word, seconds));
  await waitFor(() => ledger().includes(`${word} begins`), { what: `${word} to begin`, timeoutMs: WITHIN_MS });
  return stream;
}

/** What the model was given as the result of the command, once the run has succeeded. */
async function resultOf(stream: Awaited<ReturnType<typeof beginTurn>>): Promise<string> {
  await stream.end(WITHIN_MS);
  const client = stack.client();
  const { body } = await client.call<{ status: string }>('GET', `/threads/${threadId}/runs/${runIdOf(stream)}`);
  expect(body.status).toBe('success');
  const state = await client.call<{ values: { messages: readonly { type: string; content: unknown }[] } }>(
    'GET',
    `/threads/${threadId}/state`,
  );
  return JSON.stringify(state.body.values.messages.filter(({ type }) => type === 'tool').at(-1)?.content);
}

const runTurn = async (word: string): Promise<string> => resultOf(await beginTurn(word, 0));

test('killed, with another manager on its machine: that one releases its lease, and the thread continues', async () => {
  const victim = await startManager();
  const stream = await beginTurn('first', 60);
  const survivor = await startManager();

  await victim.kill9();
  const lost = await resultOf(stream);
  const next = await runTurn('next');

  expect(lost).toContain('may have had effects');
  expect(next).toContain('next is done');
  expect(ledger()).toEqual(['first begins', 'next begins', 'next ends']);
  await waitForOutput(survivor, RELEASED);
});

test('killed and started again, without another manager: the new one releases its lease, and the thread continues', async () => {
  const victim = await startManager();
  const stream = await beginTurn('first', 60);

  await victim.kill9();
  const successor = await startManager();
  const lost = await resultOf(stream);

  expect(lost).toContain('may have had effects');
  expect(ledger()).toEqual(['first begins']);
  await waitForOutput(successor, RELEASED);
  expect(await runTurn('next')).toContain('next is done');
});

test('paused for 6 s: no other manager takes over, and no result is lost', async () => {
  const { manager: paused, renewed } = await startRenewing();
  const stream = await beginTurn('first', 6);
  await startManager();

  await renewed();
  paused.pause();
  await sleep(6_000);
  paused.resume();

  expect(await resultOf(stream)).toContain('first is done');
  expect(await runTurn('next')).toContain('next is done');
  expect(ledger()).toEqual(['first begins', 'first ends', 'next begins', 'next ends']);
});

test('paused for 15 s and more: another takes over, and never do two of the thread’s commands run at once', async () => {
  const paused = await startManager();
  const stream = await beginTurn('first', 60);
  await startManager();

  paused.pause();
  const [result] = await Promise.all([resultOf(stream), sleep(15_000)]);
  expect(await runTurn('next')).toContain('next is done');
  paused.resume();

  expect(result).toContain('may have had effects');
  expect(await runTurn('later')).toContain('later is done');
  expect(ledger()).toEqual(['first begins', 'next begins', 'next ends', 'later begins', 'later ends']);
});

describe('on two machines', () => {
  /** Another machine, as far as a manager can tell: it has no process ids and sockets of the first one. */
  const machine = (name: string) => ({ CARIBOU_RUN_DIR: join(stack.homeDir, `machine-${name}`) });

  test('paused for 15 s and more: its command has ended before another machine runs the next one', async () => {
    const paused = await startManager(machine('a'));
    const stream = await beginTurn('first', 60);
    await startManager(machine('b'));

    paused.pause();
    const result = await resultOf(stream);
    expect(await runTurn('next')).toContain('next is done');
    expect(ledger()).toEqual(['first begins', 'next begins', 'next ends']);
    paused.resume();

    expect(result).toContain('may have had effects');
    expect(await runTurn('later')).toContain('later is done');
    expect(ledger()).toEqual(['first begins', 'next begins', 'next ends', 'later begins', 'later ends']);
  });

  test('cut off from Redis: the same, and it serves again once it has a lease', async () => {
    const proxy = await startProxy({ target: stack.redis.port });
    const cut = await startManager({
      ...machine('a'),
      REDIS_URL: stack.urlOf('sandbox-manager', 'redis', proxy.port),
    });
    const stream = await beginTurn('first', 60);
    const other = await startManager(machine('b'));

    proxy.refuse();
    proxy.cut();
    expect(await resultOf(stream)).toContain('may have had effects');
    expect(await runTurn('next')).toContain('next is done');
    expect(ledger()).toEqual(['first begins', 'next begins', 'next ends']);

    proxy.accept();
    await waitFor(async () => (await cut.ready()).ok, { what: 'its lease' });
    await other.kill9();
    expect(await runTurn('later')).toContain('later is done');
    expect(ledger()).toEqual(['first begins', 'next begins', 'next ends', 'later begins', 'later ends']);
    await proxy.stop();
  });
});

test('Redis stalls for 6 s: no other manager takes over, and no result is lost', async () => {
  const { renewed } = await startRenewing();
  const stream = await beginTurn('first', 6);
  await startManager();

  await renewed();
  stack.redis.pause();
  await sleep(6_000);
  stack.redis.resume();

  expect(await resultOf(stream)).toContain('first is done');
  expect(await runTurn('next')).toContain('next is done');
  expect(ledger()).toEqual(['first begins', 'first ends', 'next begins', 'next ends']);
});

test('cut off from NATS: no other manager takes over, and the result is read from the journal', async () => {
  const proxy = await startProxy({ target: stack.nats.port });
  await startManager({ NATS_URL: stack.urlOf('sandbox-manager', 'nats', proxy.port) });
  const stream = await beginTurn('first', 8);
  await startManager();

  proxy.refuse();
  proxy.cut();
  const result = resultOf(stream);
  await sleep(12_000);
  expect(ledger()).toEqual(['first begins', 'first ends']);
  proxy.accept();

  expect(await result).toContain('first is done');
  expect(await runTurn('next')).toContain('next is done');
  expect(ledger()).toEqual(['first begins', 'first ends', 'next begins', 'next ends']);
  await proxy.stop();
});

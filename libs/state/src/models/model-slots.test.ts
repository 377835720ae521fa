import { type Logger, type ModelGate, RunCancelled, silentLogger } from '@caribou/core';
import { startRedis, type TestServer, waitFor } from '@caribou/testing';
import type { RedisConnection } from '../redis/connection.js';
import { type ModelGateOptions, redisModelGate } from './model-gate.js';
import { admitted, enter, type GateConnections, useGateConnections } from '../testing/model-gate-fixture.js';

const BASE: ModelGateOptions = { failureThreshold: 3, recoveryMs: 60_000, maxConcurrentCalls: 2 };

let connections: GateConnections;

useGateConnections((opened) => {
  connections = opened;
});

const connect = (url?: string): RedisConnection =>
  connections.connect({ commandTimeoutMs: 1_000, ...(url === undefined ? {} : { url }) });

const gateOf = (options: Partial<ModelGateOptions> = {}): ModelGate =>
  redisModelGate(connect(), { ...BASE, ...options });

const keysEnding = async (end: string): Promise<string | undefined> => {
  const keys = await (connections.all[0] ?? connect()).use((client) => client.keys(`${connections.prefix}*:${end}`));
  return keys[0];
};

const waiters = async (): Promise<number> => {
  const key = await keysEnding('queue');
  return key === undefined ? 0 : (connections.all[0] ?? connect()).use((client) => client.zcard(key));
};

describe('slots', () => {
  test('never more calls are under way than allowed, over two processes, and all get their turn', async () => {
    const gates = [gateOf(), gateOf()] as const;
    let running = 0;
    let most = 0;

    await Promise.all(
      Array.from({ length: 12 }, async (_, at) => {
        const pass = await admitted(at % 2 === 0 ? gates[0] : gates[1]);
        most = Math.max(most, (running += 1));
        await connections.all[0]?.ping();
        running -= 1;
        await pass.release('answered');
      }),
    );

    expect(most).toBe(2);
  });

  test('are given in the order of arrival', async () => {
    const [one, two] = [gateOf({ maxConcurrentCalls: 1 }), gateOf({ maxConcurrentCalls: 1 })];
    const holder = await admitted(one);
    const served: string[] = [];
    const queue = async (name: string, gate: ModelGate): Promise<void> => {
      const pass = await admitted(gate);
      served.push(name);
      await pass.release('answered');
    };
    const first = queue('first', one);
    await waitFor(async () => (await waiters()) === 1, { what: 'the first in the queue' });
    const second = queue('second', two);
    await waitFor(async () => (await waiters()) === 2, { what: 'the second in the queue' });

    await holder.release('answered');
    await Promise.all([first, second]);

    expect(served).toEqual(['first', 'second']);
  });

  test('are given to users in turn, however many calls of one wait', async () => {
    const gate = gateOf({ maxConcurrentCalls: 1 });
    const holder = await admitted(gate);
    const served: string[] = [];
    const calls: Promise<void>[] = [];
    for (const [at, userId] of ['alice', 'alice', 'alice', 'alice', 'bob', 'bob'].entries()) {
      calls.push(
        enter(gate, undefined, userId).then(async (entry) => {
          served.push(userId);
          if (entry.kind === 'admitted') await entry.permit.release('answered');
        }),
      );
      await waitFor(async () => (await waiters()) === at + 1, { what: 'the call in the queue' });
    }

    await holder.release('answered');
    await Promise.all(calls);

    expect(served.join(' ')).toBe('alice bob alice bob alice alice');
  });

  test('of a process that died are free when their lease runs out, those of a living one are not', async () => {
    const [one, two] = [gateOf({ leaseMs: 1_500 }), gateOf({ leaseMs: 1_500 })];
    await admitted(one);
    const living = await admitted(two);
    await connections.all[0]?.close();

    const taken = await admitted(two);

    const impatient = redisModelGate(connect(), { ...BASE, slotWaitMs: 2_500, leaseMs: 1_500 });
    expect(await enter(impatient)).toEqual({ kind: 'refused', reason: 'no_slot' });
    await Promise.all([living.release('answered'), taken.release('answered')]);
    expect((await enter(impatient)).kind).toBe('admitted');
  });

  test('are not blocked for long by a process that died while waiting', async () => {
    const [dying, two] = [gateOf({ maxConcurrentCalls: 1 }), gateOf({ maxConcurrentCalls: 1 })];
    const holder = await admitted(two);
    const lost = enter(dying).catch((error: unknown) => error);
    const redis = connect();
    const queue = await waitFor(() => keysEnding('queue').catch(() => undefined), { what: 'a queue' });
    await connections.all[0]?.close();
    expect(await lost).toMatchObject({ kind: 'admitted' });
    expect(await redis.use((client) => client.zcard(queue))).toBe(1);

    await holder.release('answered');

    await (await admitted(two)).release('answered');
    expect(await redis.use((client) => client.zcard(queue))).toBe(0);
  });

  test('a cancel ends the wait and leaves the queue', async () => {
    const gate = gateOf({ maxConcurrentCalls: 1 });
    await admitted(gate);
    const stop = new AbortController();
    const waiting = enter(gate, stop.signal).catch((error: unknown) => error);
    await waitFor(async () => (await waiters()) === 1, { what: 'one in the queue' });
    const reason = new RunCancelled('interrupt');

    stop.abort(reason);

    expect(await waiting).toBe(reason);
    expect(await waiters()).toBe(0);
    await expect(enter(gate, stop.signal)).rejects.toBe(reason);
  });

  test('the wait is bounded', async () => {
    const gate = gateOf({ maxConcurrentCalls: 1, slotWaitMs: 100 });
    await admitted(gate);

    expect(await enter(gate)).toEqual({ kind: 'refused', reason: 'no_slot' });
    expect(await waiters()).toBe(0);
  });

  test('waiting calls are refused as soon as the circuit opens', async () => {
    const [one, two] = [gateOf({ failureThreshold: 1 }), gateOf({ failureThreshold: 1 })];
    const [failing] = [await admitted(one), await admitted(one)];
    const waiting = enter(two);
    await waitFor(async () => (await waiters()) === 1, { what: 'one in the queue' });

    await failing.release('failed');

    expect(await waiting).toMatchObject({ kind: 'refused', reason: 'circuit_open' });
    expect(await waiters()).toBe(0);
  });
});

describe('without Redis', () => {
  let other: TestServer;
  beforeAll(async () => {
    other = await startRedis({ appendonly: false });
  });
  afterAll(() => other.stop());

  test.each([0, 1])('calls are admitted with a warning, at most one request a second (limit %d)', async (limit) => {
    const redis = connect(other.url);
    const run = jest.fn(redis.run.bind(redis));
    const warn = jest.fn();
    const logger: Logger = { ...silentLogger, warn };
    const gate = redisModelGate({ keys: redis.keys, run }, { ...BASE, maxConcurrentCalls: limit, logger });
    await redis.ping();
    await other.kill9();

    for (let call = 0; call < 5; call += 1) await (await admitted(gate)).release('answered');
    expect(run).toHaveBeenCalledTimes(1);
    expect(warn).toHaveBeenCalledTimes(1);
    await (await admitted(gate)).release('failed');
    expect(warn).toHaveBeenCalledTimes(2);

    await other.restart();
    await waitFor(() => redis.ping().then(() => true), { what: 'Redis to be back' });
    await (await admitted(gate)).release('failed');
    expect(warn).toHaveBeenCalledTimes(2);
  });
});

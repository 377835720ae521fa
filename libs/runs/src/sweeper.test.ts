import { type Bus, connectBus, type Wakes } from '@caribou/bus';
import { newId, streams, UnavailableError } from '@caribou/contracts';
import { silentLogger, systemClock, type ThreadKey } from '@caribou/core';
import { redisTurnQueue, type RunStore } from '@caribou/state';
import {
  openStores,
  startNats,
  startRedis,
  type StoreFixture,
  type TestServer,
  thread,
  waitFor,
} from '@caribou/testing';
import { connect } from 'nats';
import { Sweeper, TurnWorker } from './index.js';
import type { Handling } from './run-executor.js';
import type { SweeperOptions } from './sweeper.js';

interface RunnerOptions extends Partial<Pick<SweeperOptions, 'sweepMs' | 'graceMs' | 'pollAfterMs'>> {
  readonly wakes?: Pick<Wakes, 'pull' | 'publish' | 'replaceLost'>;
  readonly slots?: number;
  readonly takeoverSlots?: number;
}

/** Claims a thread, and ends its run when it is let go. */
async function runUntil(
  store: RunStore,
  key: ThreadKey,
  until: (threadId: string) => Promise<void>,
): Promise<Handling> {
  const claimed = await store.claim(key, newId());
  if (claimed.kind === 'busy') return { kind: 'busy' };
  if (claimed.kind !== 'run') return { kind: 'ack', more: false, queueIsEmpty: false };
  await until(key.threadId);
  const { more, queueIsEmpty } = await store.finish(claimed.lease, { status: 'success', events: [] });
  return { kind: 'ack', more, queueIsEmpty };
}

describe(Sweeper, () => {
  let nats: TestServer;
  let redis: TestServer;
  let bus: Bus;
  let store: StoreFixture;
  const stops: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    [nats, redis] = await Promise.all([startNats(), startRedis({ appendonly: false })]);
  });

  afterAll(() => Promise.all([nats.stop(), redis.stop()]));

  beforeEach(async () => {
    store = openStores(redis.url, { leaseMs: 60_000 });
    bus = connectBus({
      url: nats.url,
      name: 'test',
      logger: silentLogger,
      streams: ['turns', 'deadLetters'],
      checkMs: 200,
    });
    await bus.waitUntilConnected();
    await bus.checkStreams();
  });

  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
    const { name } = streams.turns;
    const connection = await connect({ servers: nats.url });
    await (await connection.jetstreamManager()).streams.purge(name);
    await Promise.all([connection.close(), bus.close(), store.close()]);
  });

  /** A runner whose runs last until `letGo`. */
  function runner({ wakes = bus.wakes('turns'), slots = 1, takeoverSlots = 0, ...options }: RunnerOptions = {}) {
    const running = new Set<string>();
    let letGo: () => void = () => undefined;
    const over = new Promise<void>((resolve) => (letGo = resolve));
    const until = async (threadId: string): Promise<void> => {
      running.add(threadId);
      await over;
      running.delete(threadId);
    };
    const worker = new TurnWorker({
      wakes,
      handoffs: bus,
      queue: redisTurnQueue(store.redis),
      logger: silentLogger,
      slots,
      takeoverSlots,
      executor: { handle: (key) => runUntil(store.runs, key, until) },
      registry: { drain: () => Promise.resolve() },
      metrics: { redelivered: () => undefined },
    });
    const sweeper = new Sweeper({
      store: store.runs,
      wakes,
      worker,
      clock: systemClock,
      logger: silentLogger,
      sweepMs: 50,
      graceMs: 0,
      ...options,
      deadLetter: (id, entry) => bus.deadLetter('run', id, entry),
    });
    worker.start();
    stops.push(async () => {
      await sweeper.stop();
      letGo();
      await worker.drain(0);
    });
    return { running, letGo, worker, sweeper, runs: ({ threadId }: ThreadKey) => running.has(threadId) };
  }

  /** A thread whose run was begun by a process that is dead. */
  async function orphan(): Promise<ThreadKey> {
    const key = thread();
    await store.admit(key);
    await store.claim(key);
    await store.redis.use((client) => client.del(store.redis.keys.thread(key).lease));
    return key;
  }

  const admitted = async (): Promise<ThreadKey> => {
    const key = thread();
    await store.admit(key);
    return key;
  };

  test('S1 an interrupted run is taken over though all slots are in use, up to the takeover slots', async () => {
    const { sweeper, runs, running, letGo } = runner({ slots: 1, takeoverSlots: 1 });
    const busy = await admitted();
    await bus.wakes('turns').publish(busy);
    await waitFor(() => runs(busy), { what: 'the slot to be in use' });
    const [first, second, queued] = [await orphan(), await orphan(), await admitted()];

    await sweeper.sweep();
    await waitFor(() => runs(first), { what: 'the takeover' });
    await sweeper.sweep();

    expect([...running]).toEqual([busy.threadId, first.threadId]);
    letGo();
    await waitFor(async () => (await store.runs.listUnowned(10)).length === 0, { what: 'the others to run' });
    expect([await store.isPending(second), await store.isPending(queued)]).toEqual([false, false]);
  });

  test('S1 a run whose owner renews its lapsed lease in time is left to it', async () => {
    const { sweeper, runs } = runner({ slots: 2, graceMs: 300, sweepMs: 10_000 });
    const [lapsed, dead] = [await orphan(), await orphan()];
    await sweeper.sweep();
    const { lease } = await store.claim(lapsed);

    sweeper.start();

    await waitFor(() => runs(dead), { what: 'the takeover' });
    expect(runs(lapsed)).toBe(false);
    await store.runs.renew(lease);
  });

  test('S2 wakes are published behind the oldest threads too', async () => {
    const none = { occupy: () => false, failingMs: 0, stop: () => undefined, idle: () => Promise.resolve() };
    const { publish, replaceLost } = bus.wakes('turns');
    const { sweeper } = runner({ wakes: { publish, replaceLost, pull: () => none }, sweepMs: 60_000 });
    const keys = await Promise.all(Array.from({ length: 900 }, admitted));
    for (const { userId, threadId } of (await store.runs.listUnowned(500)).values())
      await publish({ userId, threadId });

    await sweeper.sweep();

    const outcomes = new Set<string>();
    for (const key of keys) outcomes.add(await publish(key));
    expect([...outcomes]).toEqual(['waiting']);
  });

  test('S3 a thread whose wake waits for ever gets a new one in its place', async () => {
    const wakes = bus.wakes('turns');
    const publish = jest.fn(() => Promise.resolve('waiting' as const));
    const replaceLost = jest.fn(async (key: ThreadKey) => (await wakes.publish(key)) === 'stored');
    const { sweeper, runs } = runner({ wakes: { pull: (options) => wakes.pull(options), publish, replaceLost } });
    const stuck = await admitted();

    sweeper.start();

    await waitFor(() => runs(stuck), { what: 'the run' });
    expect(replaceLost).toHaveBeenCalledWith(expect.objectContaining(stuck));
    expect(publish).toHaveBeenCalledWith(expect.objectContaining(stuck));
  });

  test('S3 a thread is claimed directly when a new wake does not arrive either', async () => {
    const wakes = bus.wakes('turns');
    const { sweeper, runs } = runner({
      wakes: {
        pull: (options) => wakes.pull(options),
        publish: () => Promise.resolve('waiting'),
        replaceLost: () => Promise.resolve(true),
      },
    });
    const stuck = await admitted();
    sweeper.start();
    await waitFor(() => runs(stuck), { what: 'the run' });
  });

  test('S4 threads are claimed directly while wakes are refused', async () => {
    const wakes = bus.wakes('turns');
    const { sweeper, runs } = runner({
      wakes: {
        pull: (options) => wakes.pull(options),
        publish: () => Promise.reject(new UnavailableError('the stream is full')),
        replaceLost: () => Promise.resolve(false),
      },
      sweepMs: 2_000,
      pollAfterMs: 50,
    });
    const key = await admitted();
    sweeper.start();
    await waitFor(() => runs(key), { what: 'the run' });
  });

  test('S4 threads are claimed directly while NATS is away, and a dead letter reaches it later', async () => {
    const { sweeper, runs, worker } = runner({ pollAfterMs: 200 });
    await nats.kill9();
    await waitFor(() => worker.failingMs > 0, { what: 'the loss' });
    const [key, poison] = [await admitted(), await orphan()];
    const { lease } = await store.claim(poison);
    const deadLetter = { id: lease.runId, entry: { run_id: lease.runId } };
    await store.runs.finish(lease, { status: 'error', deadLetter, events: [] });

    sweeper.start();

    await waitFor(() => runs(key), { what: 'the run' });
    expect(await store.runs.listDeadLetters(10)).toEqual([deadLetter]);
    await nats.restart();
    await waitFor(async () => (await store.runs.listDeadLetters(10)).length === 0, { what: 'the copy' });
    const connection = await connect({ servers: nats.url });
    const manager = await connection.jetstreamManager();
    const letter = await manager.streams.getMessage('DEAD_LETTERS', { last_by_subj: `dead.run.${lease.runId}` });
    expect(letter.json()).toEqual(deadLetter.entry);
    await connection.close();
    await waitFor(() => worker.failingMs === 0, { what: 'wakes to arrive' });
  });
});

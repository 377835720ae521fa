import { type Bus, connectBus } from '@caribou/bus';
import { newId, streams } from '@caribou/contracts';
import { silentLogger, type ThreadKey } from '@caribou/core';
import { redisRunStore, redisTurnQueue, type RunStore } from '@caribou/state';
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
import { TurnWorker } from './index.js';
import type { Handling, TakenOffer } from './run-executor.js';

interface Started extends ThreadKey {
  readonly end: () => void;
}

describe(TurnWorker, () => {
  let nats: TestServer;
  let redis: TestServer;
  let store: StoreFixture;
  /** The connection of the gateway. */
  let gateway: Bus;
  /** Runs in the order in which they were started, of all runners. */
  let started: Started[] = [];
  /** How many of them have ended. */
  let ended = 0;
  let isOver = false;
  const stops: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    [nats, redis] = await Promise.all([startNats(), startRedis({ appendonly: false })]);
  });

  afterAll(() => Promise.all([nats.stop(), redis.stop()]));

  beforeEach(async () => {
    started = [];
    ended = 0;
    isOver = false;
    store = openStores(redis.url, { leaseMs: 60_000 });
    gateway = await openBus();
  });

  afterEach(async () => {
    isOver = true;
    for (const { end } of started) end();
    for (const stop of stops.splice(0).reverse()) await stop();
    const connection = await connect({ servers: nats.url });
    await (await connection.jetstreamManager()).streams.purge(streams.turns.name);
    await Promise.all([connection.close(), store.close()]);
  });

  async function openBus(): Promise<Bus> {
    const bus = connectBus({ url: nats.url, name: 'test', logger: silentLogger, streams: ['turns'] });
    stops.push(() => bus.close());
    await bus.waitUntilConnected();
    await bus.checkStreams();
    return bus;
  }

  /** Claims a thread and holds its run until `end`. */
  async function execute(runs: RunStore, key: ThreadKey, offer?: TakenOffer): Promise<Handling> {
    const claimed = await runs.claim(key, newId());
    offer?.onClaimed(claimed);
    if (claimed.kind === 'busy' || claimed.kind === 'capped') return { kind: claimed.kind };
    if (claimed.kind !== 'run') return { kind: 'ack', more: false, queueIsEmpty: false };
    await new Promise<void>((end) => {
      started.push({ ...key, end });
      if (isOver) end();
    });
    const { more, queueIsEmpty } = await runs.finish(claimed.lease, { status: 'success', events: [] });
    ended += 1;
    return { kind: 'ack', more, queueIsEmpty };
  }

  /** A runner whose runs last until they are let go. */
  async function startRunner({ slots = 4, maxRunningPerUser = 0, onTake = (): void => undefined } = {}) {
    const bus = await openBus();
    const runs = redisRunStore(store.redis, { leaseMs: 60_000, maxRunningPerUser });
    const queue = redisTurnQueue(store.redis, { maxRunningPerUser, weights: {} });
    const worker = new TurnWorker({
      wakes: bus.wakes('turns'),
      handoffs: bus,
      queue: {
        take: (waiting) => {
          onTake();
          return queue.take(waiting);
        },
      },
      executor: { handle: (key, offer) => execute(runs, key, offer) },
      registry: { drain: () => Promise.resolve() },
      metrics: { redelivered: () => undefined },
      logger: silentLogger,
      slots,
      takeoverSlots: 0,
    });
    worker.start();
    stops.push(() => worker.drain(0));
    return worker;
  }

  const admitted = async (userId: string): Promise<ThreadKey> => {
    const key = thread(userId);
    await store.admit(key);
    return key;
  };

  /** What a gateway does with a new run. */
  async function dispatch(key: ThreadKey): Promise<string> {
    const outcome = await gateway.offerTurn({ thread: key });
    if (outcome === 'taken') return outcome;
    await redisTurnQueue(store.redis).enqueue(key);
    await gateway.wakes('turns').publish(key);
    return outcome;
  }

  const runningOf = (userId: string): number => started.filter((run) => run.userId === userId).length;
  const whenStarted = (count: number): Promise<unknown> =>
    waitFor(() => started.length >= count, { what: `${count} runs to be started` });
  const whenOffersAreTaken = (): Promise<unknown> =>
    waitFor(async () => (await gateway.offerTurn({ thread: thread('nobody') })) === 'taken', {
      what: 'a runner to take offers',
    });

  test('W1 takes an offered run at once, and none while all slots are in use', async () => {
    await startRunner({ slots: 2 });
    await whenOffersAreTaken();

    const outcomes: string[] = [];
    for (let count = 0; count < 3; count += 1) outcomes.push(await dispatch(await admitted('alice')));

    expect(outcomes).toEqual(['taken', 'taken', 'refused']);
    started[0]?.end();
    await whenStarted(3);
  });

  test('W1 takes offers again as soon as a run ends while nothing waits, without a look at the queue', async () => {
    const onTake = jest.fn();
    await startRunner({ slots: 2, onTake });
    await whenOffersAreTaken();
    onTake.mockClear();
    for (let turn = 0; turn < 6; turn += 1) {
      expect(await dispatch(await admitted('alice'))).toBe('taken');
      await whenStarted(turn + 1);
      if (turn === 0) continue;
      // Both slots are in use; the runner does not stop to take offers for that.
      started[turn - 1]?.end();
      await waitFor(() => ended === turn, { what: `the end of run ${turn}` });
    }

    expect(onTake).not.toHaveBeenCalled();
  });

  test('W1 nobody who comes later gets the slot of a thread that waits', async () => {
    await startRunner({ slots: 1 });
    await whenOffersAreTaken();
    await dispatch(await admitted('alice'));
    await dispatch(await admitted('alice'));
    started[0]?.end();

    const late = await admitted('bob');
    const outcome = await dispatch(late);

    await whenStarted(2);
    expect(started.map(({ userId }) => userId)).toEqual(['alice', 'alice']);
    expect(outcome).not.toBe('taken');
    started[1]?.end();
    await whenStarted(3);
    expect(started[2]).toMatchObject(late);
  });

  test('W2 of a user with 1,000 threads and one with a thread now and then, the second waits for one run', async () => {
    const slots = 4;
    await startRunner({ slots });
    await whenOffersAreTaken();
    for (let count = 0; count < 1_000; count += 1) await dispatch(await admitted('alice'));
    await whenStarted(slots);

    const waits: number[] = [];
    let freedRuns = 0;
    for (let turn = 0; turn < 25; turn += 1) {
      const key = await admitted('bob');
      await dispatch(key);
      let freed = 0;
      while (!started.some(({ threadId }) => threadId === key.threadId)) {
        const count = started.length;
        started[freedRuns]?.end();
        freedRuns += 1;
        freed += 1;
        await whenStarted(count + 1);
      }
      waits.push(freed);
    }

    // His share is every second slot that becomes free.
    expect(Math.max(...waits)).toBeLessThanOrEqual(2);
  });

  test('W2 a wake of a gateway that does not queue is enough', async () => {
    await startRunner();
    const key = await admitted('alice');

    await gateway.wakes('turns').publish(key);

    await whenStarted(1);
    expect(started[0]).toMatchObject(key);
  });

  test('W2 the next run of a thread is started by the runner that ends the one before, without a wake', async () => {
    await startRunner();
    await whenOffersAreTaken();
    const key = await admitted('alice');
    await dispatch(key);
    await whenStarted(1);
    await store.admit(key);

    started[0]?.end();

    await whenStarted(2);
    expect(started[1]).toMatchObject(key);
  });

  test('a limit of running threads holds over two runners, and passes on to the next run', async () => {
    const shares = { maxRunningPerUser: 3 };
    await Promise.all([startRunner(shares), startRunner(shares)]);
    await whenOffersAreTaken();
    for (let count = 0; count < 6; count += 1) await dispatch(await admitted('alice'));
    for (let count = 0; count < 3; count += 1) await dispatch(await admitted('bob'));
    await whenStarted(6);
    expect([runningOf('alice'), runningOf('bob')]).toEqual([3, 3]);
    expect(await redisTurnQueue(store.redis, { ...shares, weights: {} }).take()).toBeNull();

    started.find(({ userId }) => userId === 'alice')?.end();

    await whenStarted(7);
    expect([runningOf('alice'), runningOf('bob')]).toEqual([4, 3]);
  });

  test('drained, takes neither offers nor wakes, and leaves the queue to others', async () => {
    const worker = await startRunner({ slots: 1 });
    await whenOffersAreTaken();
    await dispatch(await admitted('alice'));
    const second = await admitted('bob');
    await dispatch(second);
    const draining = worker.drain(0);
    started[0]?.end();
    await draining;
    expect(started).toHaveLength(1);

    await startRunner();

    await whenStarted(2);
    expect(started[1]).toMatchObject(second);
  });
});

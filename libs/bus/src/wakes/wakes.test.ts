import { streams, UnavailableError, wakeSubject } from '@caribou/contracts';
import { silentLogger } from '@caribou/core';
import { startNats, type TestServer, waitFor } from '@caribou/testing';
import { connect, DiscardPolicy, type JetStreamManager, type NatsConnection, RetentionPolicy } from 'nats';
import { type Bus, type BusOptions, connectBus, type PublishedWake, type PullOptions, type Wake } from '../index.js';

const publish = (bus: Bus, threadId: string): Promise<PublishedWake> =>
  bus.wakes('turns').publish({ userId: 'default', threadId });

describe('wakes', () => {
  let nats: TestServer;
  let raw: NatsConnection;
  let manager: JetStreamManager;
  const open: Bus[] = [];

  const start = async (options: Partial<BusOptions> = {}): Promise<Bus> => {
    const bus = connectBus({
      url: nats.url,
      name: 'test',
      logger: silentLogger,
      streams: ['turns', 'deadLetters'],
      ackWaitMs: 1_000,
      checkMs: 200,
      ...options,
    });
    open.push(bus);
    await bus.waitUntilConnected();
    await bus.checkStreams();
    return bus;
  };

  /** A runner that notes what it gets and acks it. */
  const runner = (bus: Bus, options: Partial<PullOptions> = {}) => {
    const wakes: Wake[] = [];
    const pull = bus.wakes('turns').pull({
      slots: 4,
      handle: async (wake) => {
        wakes.push(wake);
        await wake.ack();
      },
      ...options,
    });
    return { wakes, pull, threads: () => wakes.map(({ threadId }) => threadId) };
  };

  const waiting = async (): Promise<number> => (await manager.streams.info(streams.turns.name)).state.messages;

  beforeEach(async () => {
    nats = await startNats();
    raw = await connect({ servers: nats.url });
    manager = await raw.jetstreamManager();
  });

  afterEach(async () => {
    await Promise.all(open.splice(0).map((bus) => bus.close(200)));
    await raw.close();
    await nats.stop();
  });

  test('a second wake of a waiting thread is success and is not stored', async () => {
    const bus = await start();
    await publish(bus, 't1');
    await publish(bus, 't1');
    await publish(bus, 't2');
    expect(await waiting()).toBe(2);
  });

  test('every thread is handed over once and its acked wake is gone', async () => {
    const bus = await start();
    const { wakes, threads } = runner(bus);
    const ids = Array.from({ length: 20 }, (_, index) => `t${index}`);
    await Promise.all(ids.map((id) => publish(bus, id)));
    await waitFor(() => wakes.length === 20, { what: 'all wakes' });
    expect(threads().sort()).toEqual(ids.sort());
    expect(wakes.every(({ redelivered }) => !redelivered)).toBe(true);
    await waitFor(async () => (await waiting()) === 0, { what: 'an empty stream' });
  });

  test('no more handlers run than there are slots, and waiting wakes are not taken from the server', async () => {
    const bus = await start({ ackWaitMs: 30_000 });
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const { wakes } = runner(bus, {
      slots: 2,
      handle: async (wake) => {
        wakes.push(wake);
        await gate;
        await wake.ack();
      },
    });
    for (let index = 0; index < 5; index += 1) await publish(bus, `t${index}`);
    await waitFor(() => wakes.length === 2, { what: 'two handlers' });
    const { num_ack_pending, num_pending } = await manager.consumers.info(streams.turns.name, streams.turns.consumer);
    expect({ num_ack_pending, num_pending }).toEqual({ num_ack_pending: 2, num_pending: 3 });
    release();
    await waitFor(() => wakes.length === 5, { what: 'the rest' });
  });

  test('a wake that is neither acked nor held comes again, one that is held does not', async () => {
    const bus = await start();
    const kept: string[] = [];
    const { wakes, pull } = runner(bus, {
      handle: async (wake) => {
        wakes.push(wake);
        if (wake.threadId === 'silent' && !wake.redelivered) return;
        if (wake.threadId === 'held') {
          await waitFor(() => (wake.working(), wakes.some(({ redelivered }) => redelivered)), {
            what: 'the other wake',
            everyMs: 100,
          });
          kept.push(wake.threadId);
        }
        await wake.ack();
      },
    });
    await publish(bus, 'held');
    await publish(bus, 'silent');
    await waitFor(() => kept.length === 1, { what: 'the held wake' });
    await pull.idle();
    expect(wakes.filter(({ threadId }) => threadId === 'silent').map(({ redelivered }) => redelivered)).toEqual([
      false,
      true,
    ]);
    expect(wakes.filter(({ threadId }) => threadId === 'held')).toHaveLength(1);
  });

  test('a wake given back comes again after its delay, to any runner', async () => {
    const [first, second] = [await start(), await start()];
    const busy = runner(first, { handle: async (wake) => wake.nak(50) });
    await publish(first, 't1');
    await waitFor(async () => (await manager.consumers.info('TURNS', 'runner')).delivered.consumer_seq > 2, {
      what: 'some naks',
    });
    busy.pull.stop();
    const free = runner(second);
    await waitFor(() => free.wakes.length === 1, { what: 'the other runner' });
  });

  test('a stopped puller hands nothing over and gives back what still arrives', async () => {
    const [draining, other] = [await start({ ackWaitMs: 60_000 }), await start({ ackWaitMs: 60_000 })];
    const stopped = runner(draining);
    await waitFor(async () => (await manager.consumers.info('TURNS', 'runner')).num_waiting === 1, {
      what: 'its request',
    });
    stopped.pull.stop();
    const { wakes } = runner(other);
    await publish(other, 't1');
    await waitFor(() => wakes.length === 1, { what: 'the wake at the other' });
    expect(stopped.wakes).toHaveLength(0);
  });

  test('deleted streams and consumers are made again, and pulling goes on', async () => {
    const bus = await start();
    const { wakes } = runner(bus);
    await publish(bus, 'before');
    await waitFor(() => wakes.length === 1, { what: 'the first wake' });
    await manager.consumers.delete('TURNS', 'runner');
    await publish(bus, 'no-consumer');
    await waitFor(() => wakes.length === 2, { what: 'the wake after the consumer was deleted' });
    await manager.streams.delete('TURNS');
    // As the sweeper does: a server that deletes and makes the same stream at once may lose what it confirmed meanwhile.
    const seen = async (): Promise<boolean> => {
      await publish(bus, 'no-stream');
      return wakes.some(({ threadId }) => threadId === 'no-stream');
    };
    await waitFor(seen, { what: 'the wake after the stream was deleted', timeoutMs: 14_000, everyMs: 200 });
  }, 20_000);

  test('an idle process makes its deleted stream again', async () => {
    await start();
    await manager.streams.delete('TURNS');
    await waitFor(async () => (await manager.consumers.info('TURNS', 'runner')).name === 'runner', {
      what: 'stream and consumer',
    });
  });

  test('a stream of another kind is named in the error and left alone', async () => {
    await manager.streams.add({ name: 'TURNS', subjects: ['turns.*.*'] });
    const bus = connectBus({ url: nats.url, name: 'test', logger: silentLogger, streams: ['turns'] });
    open.push(bus);
    await bus.waitUntilConnected();
    await expect(bus.checkStreams()).rejects.toThrow(/TURNS exists with another retention/);
    expect((await manager.streams.info('TURNS')).config.retention).toBe('limits');
  });

  test('another ack wait is taken over by the existing consumer', async () => {
    await start();
    await start({ ackWaitMs: 4_000 });
    expect((await manager.consumers.info('TURNS', 'runner')).config.ack_wait).toBe(4_000_000_000);
  });

  test('processes of different settings that run side by side do not change them back and forth', async () => {
    const first = await start();
    await start({ ackWaitMs: 4_000 });
    await first.checkStreams();
    expect((await manager.consumers.info('TURNS', 'runner')).config.ack_wait).toBe(4_000_000_000);
  });

  test('what a newer version specified is left alone, by a process that starts too', async () => {
    const older = await start();
    const { config: stream } = await manager.streams.info('TURNS');
    const { config: consumer } = await manager.consumers.info('TURNS', 'runner');
    const description = 'Caribou, specification 1000';
    await manager.streams.update('TURNS', { ...stream, description, max_msgs: 2_000_000 });
    await manager.consumers.update('TURNS', 'runner', { ...consumer, description, ack_wait: 9_000_000_000 });

    await older.checkStreams();
    const { wakes } = runner(await start());
    await publish(older, 't1');

    await waitFor(() => wakes.length === 1, { what: 'the wake' });
    expect((await manager.streams.info('TURNS')).config).toMatchObject({ description, max_msgs: 2_000_000 });
    const found = (await manager.consumers.info('TURNS', 'runner')).config;
    expect(found).toMatchObject({ description, ack_wait: 9_000_000_000 });
  });

  test('what an older version specified is brought up to date', async () => {
    await manager.streams.add({
      name: 'TURNS',
      subjects: ['turns.*.*'],
      retention: RetentionPolicy.Workqueue,
      discard: DiscardPolicy.New,
      max_msgs_per_subject: 1,
      discard_new_per_subject: true,
      max_msgs: 5,
    });
    await start();
    const { config } = await manager.streams.info('TURNS');
    expect(config).toMatchObject({ max_msgs: 1_000_000, description: 'Caribou, specification 1', num_replicas: 1 });
  });

  test('kill -9 of the server is survived: wakes stored before and published after it arrive', async () => {
    const bus = await start();
    await publish(bus, 'before');
    await nats.kill9();
    await waitFor(() => !bus.connected, { what: 'the loss' });
    await expect(publish(bus, 'during')).rejects.toThrow(UnavailableError);
    const { threads } = runner(bus);
    await nats.restart();
    await waitFor(() => bus.connected, { what: 'the reconnect' });
    await publish(bus, 'after');
    await waitFor(() => threads().length === 2, { what: 'both wakes' });
    expect(threads().sort()).toEqual(['after', 'before']);
  });

  test('a puller that waits while the server is killed takes wakes again after its restart', async () => {
    const bus = await start();
    const { wakes } = runner(bus);
    await waitFor(async () => (await manager.consumers.info('TURNS', 'runner')).num_waiting === 1, {
      what: 'its request',
    });
    await nats.restart();
    await waitFor(() => publish(bus, 't1').then(() => true), { what: 'a publish' });
    await waitFor(() => wakes.length === 1, { what: 'the wake' });
  });

  test('a malformed wake goes to the dead letters and the next one is handed over', async () => {
    const bus = await start();
    const { wakes } = runner(bus);
    await raw.jetstream().publish('turns.default.$strange', 'no json');
    await raw
      .jetstream()
      .publish(wakeSubject('turns', 'default', 't2'), JSON.stringify({ user_id: 'other', thread_id: 't2', v: 1 }));
    await publish(bus, 'good');
    await waitFor(() => wakes.length === 1, { what: 'the good wake' });
    await waitFor(async () => (await manager.streams.info('DEAD_LETTERS')).state.messages === 2, {
      what: 'the dead letters',
    });
    await waitFor(async () => (await waiting()) === 0, { what: 'an empty stream' });
    const letter = await manager.streams.getMessage('DEAD_LETTERS', { seq: 1 });
    expect(letter.json()).toMatchObject({ subject: 'turns.default.$strange', payload: 'no json' });
  });

  test('a wake of a newer version is handled, with a warning, and blocks no further wake of its thread', async () => {
    const warn = jest.fn();
    const bus = await start({ logger: { ...silentLogger, warn } });
    const { wakes, threads } = runner(bus);
    const newer = JSON.stringify({ tenant: 'default', v: 2 });
    await raw.jetstream().publish(wakeSubject('turns', 'default', 't1'), newer);
    await waitFor(() => wakes.length === 1, { what: 'the newer wake' });
    await waitFor(async () => (await waiting()) === 0, { what: 'an empty stream' });
    await publish(bus, 't1');
    await waitFor(() => wakes.length === 2, { what: 'the own wake' });
    expect(threads()).toEqual(['t1', 't1']);
    expect(warn).toHaveBeenCalledWith(
      { subject: 'turns.default.t1', count: 1 },
      expect.stringMatching(/wakes of a newer version/),
    );
  });

  test('a full stream is a refusal, not a wake that waits already', async () => {
    const bus = await start();
    const { config } = await manager.streams.info('TURNS');
    await manager.streams.update('TURNS', { ...config, max_msgs: 1 });
    expect(await bus.wakes('turns').publish({ userId: 'default', threadId: 't1' })).toBe('stored');
    expect(await bus.wakes('turns').publish({ userId: 'default', threadId: 't1' })).toBe('waiting');
    await expect(publish(bus, 't2')).rejects.toThrow(UnavailableError);
    await expect(bus.wakes('turns').checkPublishing()).rejects.toThrow(UnavailableError);

    await manager.streams.purge('TURNS');

    await bus.wakes('turns').checkPublishing();
    expect(await publish(bus, 't2')).toBe('waiting');
  });

  test('a handler that fails keeps its wake unsettled and the puller alive', async () => {
    const bus = await start();
    let calls = 0;
    const { pull } = runner(bus, {
      handle: async (wake) => {
        calls += 1;
        if (calls === 1) throw new Error('broken');
        await wake.ack();
      },
    });
    await publish(bus, 't1');
    await waitFor(() => calls === 2, { what: 'the redelivery' });
    await pull.idle();
    await waitFor(async () => (await waiting()) === 0, { what: 'an empty stream' });
  });

  test('a bus starts while the server is away and works once it is there', async () => {
    await nats.kill9();
    const bus = connectBus({ url: nats.url, name: 'early', logger: silentLogger, streams: ['turns'] });
    open.push(bus);
    expect(bus.connected).toBe(false);
    await expect(bus.ping(500)).rejects.toThrow(UnavailableError);
    const { wakes } = runner(bus);
    await nats.restart();
    await waitFor(() => publish(bus, 't1').then(() => true), { what: 'a publish' });
    await waitFor(() => wakes.length === 1, { what: 'the wake' });
  });
});

import { type NumberedEvent, rpc, runEventsSubject } from '@caribou/contracts';
import { silentLogger } from '@caribou/core';
import { startNats, startProxy, type TestServer, waitFor } from '@caribou/testing';
import fc from 'fast-check';
import { z } from 'zod';
import { decodeBatch, encodeBatches } from './event-batch.js';
import { type Bus, connectBus } from '../index.js';

const custom = (seq: number, data: unknown): NumberedEvent => ({ seq, event: { kind: 'custom', data } });

describe('event batches', () => {
  test('whatever the limit, the batches hold every event that fits, in order, and a marker for each that does not', () => {
    const lengths = fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 30 });
    fc.assert(
      fc.property(
        lengths,
        fc.integer({ min: 200, max: 1_000 }),
        fc.string({ unit: 'grapheme', maxLength: 3 }),
        (sizes, limit, filler) => {
          const events = sizes.map((size, index) => custom(index + 5, filler.repeat(size)));
          const batches = encodeBatches({ events, logged: events.at(-1)?.seq ?? 1_000 }, limit);
          const read = batches.flatMap((batch) => decodeBatch(batch)?.events ?? []);
          const fits = ({ event }: NumberedEvent): boolean => Buffer.byteLength(JSON.stringify(event)) + 81 <= limit;
          expect(batches.every(({ length }) => length <= limit)).toBe(true);
          expect(read).toEqual(events.filter(fits));
          const markers = batches.filter((batch) => decodeBatch(batch)?.events.length === 0);
          expect(markers).toHaveLength(events.length === 0 ? 1 : events.length - read.length);
        },
      ),
    );
  });

  test('a hole in the numbers never shifts the events behind it', () => {
    const events = [custom(1, 'a'), custom(2, 'b'), custom(7, 'c')];
    const batches = encodeBatches({ events, logged: 7 }, 10_000);
    expect(batches.flatMap((batch) => decodeBatch(batch)?.events ?? [])).toEqual(events);
  });

  test.each([
    '',
    'no json',
    '[]',
    '{"first":0,"events":[{"kind":"end"}]}',
    '{"first":1,"events":[{"kind":"of tomorrow"}]}',
  ])('what cannot be read (%s) sends the reader to the log', (text) =>
    expect(decodeBatch(Buffer.from(text))).toBeUndefined(),
  );
});

describe('run events', () => {
  let nats: TestServer;
  const open: Bus[] = [];

  const start = async (): Promise<Bus> => {
    const bus = connectBus({ url: nats.url, name: 'test', logger: silentLogger, streams: [] });
    open.push(bus);
    await bus.waitUntilConnected();
    return bus;
  };

  const watch = async (bus: Bus, runId: string) => {
    const seen = { seqs: [] as number[], logged: [] as number[], markers: [] as number[], gaps: 0 };
    const leave = await bus.subscribeEvents(runId, {
      onEvents: (events, logged) => {
        seen.seqs.push(...events.map(({ seq }) => seq));
        (events.length === 0 ? seen.markers : seen.logged).push(logged);
      },
      onGap: () => void (seen.gaps += 1),
    });
    return { seen, leave };
  };

  beforeEach(async () => {
    nats = await startNats({ maxPayloadBytes: 65_536 });
  });

  afterEach(async () => {
    await Promise.all(open.splice(0).map((bus) => bus.close(200)));
    await nats.stop();
  });

  test('a confirmed subscription hears everything published after it, and only its run', async () => {
    const [runner, gateway] = [await start(), await start()];
    const { seen } = await watch(gateway, 'run-1');
    runner.publishEvents('run-2', [custom(1, 'other')], 1);
    for (let seq = 1; seq <= 200; seq += 1) runner.publishEvents('run-1', [custom(seq, 'x')], seq);
    await waitFor(() => seen.seqs.length === 200, { what: 'all events' });
    const all = Array.from({ length: 200 }, (_, index) => index + 1);
    // What is published in one turn of the event loop is one message.
    expect(seen).toEqual({ seqs: all, logged: [200], markers: [], gaps: 0 });
  });

  test('the first listener of an expected run learns of a gap when something was published before it listened', async () => {
    const [runner, gateway] = [await start(), await start()];
    for (const runId of ['run-1', 'run-2']) gateway.expectEvents(runId);
    await gateway.ping(2_000);
    runner.publishEvents('run-1', [custom(1, 'x')], 1);
    await runner.ping(2_000);
    await gateway.ping(2_000);

    const [late, early] = [await watch(gateway, 'run-1'), await watch(gateway, 'run-2')];
    for (const runId of ['run-1', 'run-2']) runner.publishEvents(runId, [custom(2, 'x')], 2);
    await waitFor(() => late.seen.seqs.length + early.seen.seqs.length === 2, { what: 'the events' });
    expect([late.seen.gaps, early.seen.gaps]).toEqual([1, 0]);
  });

  test('a run is expected until that is ended, and a listener may come before', async () => {
    const [runner, gateway] = [await start(), await start()];
    const release = gateway.expectEvents('run-1');
    const { seen, leave } = await watch(gateway, 'run-1');
    release();
    runner.publishEvents('run-1', [custom(1, 'x')], 1);
    await waitFor(() => seen.seqs.length === 1, { what: 'the event' });
    leave();
    gateway.expectEvents('run-2')();
    runner.publishEvents('run-2', [custom(1, 'x')], 1);
    await runner.ping(2_000);
    await gateway.ping(2_000);
    expect((await watch(gateway, 'run-2')).seen.seqs).toEqual([]);
  });

  test('events that are not in the log yet say up to which number it has events, and later that it has them', async () => {
    const [runner, gateway] = [await start(), await start()];
    const { seen } = await watch(gateway, 'run-1');
    runner.publishEvents('run-1', [custom(4, 'x'), custom(5, 'x')], 3);
    runner.publishEvents('run-1', [custom(6, 'x'.repeat(70_000))], 3);
    await waitFor(() => seen.seqs.length === 2, { what: 'the events that fit' });
    runner.publishEvents('run-1', [], 6);
    await waitFor(() => seen.markers.length === 1, { what: 'the announcement' });
    expect(seen).toEqual({ seqs: [4, 5], logged: [3], markers: [6], gaps: 0 });
  });

  test('listeners of a run share one subscription, which ends with the last of them', async () => {
    const [runner, gateway] = [await start(), await start()];
    const subscriptions = async (): Promise<unknown> => {
      // An unused subject has no responder, a subscribed one is silent.
      const probe = rpc({ name: runEventsSubject('run-1'), request: z.null(), reply: z.null(), timeoutMs: 100 });
      return await runner.call({ contract: probe }, null).catch((cause: unknown) => cause);
    };
    const [first, second] = [await watch(gateway, 'run-1'), await watch(gateway, 'run-1')];
    first.leave();
    first.leave();
    runner.publishEvents('run-1', [custom(1, 'x')], 1);
    await waitFor(() => second.seen.seqs.length === 1, { what: 'the event' });
    expect(first.seen.seqs).toEqual([]);
    expect(await subscriptions()).toMatchObject({ code: 'deadline' });
    second.leave();
    await gateway.ping(1_000);
    expect(await subscriptions()).toMatchObject({ code: 'unavailable' });
  });

  test('a batch over the limit of the server arrives in pieces, of one event over it the number alone', async () => {
    const [runner, gateway] = [await start(), await start()];
    const { seen } = await watch(gateway, 'run-1');
    runner.publishEvents(
      'run-1',
      [1, 2, 3].map((seq) => custom(seq, 'x'.repeat(30_000))),
      3,
    );
    runner.publishEvents('run-1', [custom(4, 'x'.repeat(70_000)), custom(5, 'x')], 5);
    await waitFor(() => seen.seqs.length === 4, { what: 'what fits' });
    expect(seen).toEqual({ seqs: [1, 2, 3, 5], logged: [2, 3, 5], markers: [4], gaps: 0 });
    expect(runner.connected).toBe(true);
  });

  test('after a restart of the server listeners are told of the gap and hear what comes then', async () => {
    const [runner, gateway] = [await start(), await start()];
    const { seen } = await watch(gateway, 'run-1');
    await nats.kill9();
    await waitFor(() => !runner.connected && !gateway.connected, { what: 'the loss' });
    expect(() => runner.publishEvents('run-1', [custom(1, 'lost')], 1)).not.toThrow();
    const late = await watch(gateway, 'run-2');
    await nats.restart();
    await waitFor(() => seen.gaps > 0 && late.seen.gaps > 0, { what: 'both gaps' });
    await waitFor(() => runner.connected, { what: 'the runner' });
    runner.publishEvents('run-1', [custom(2, 'x')], 2);
    runner.publishEvents('run-2', [custom(1, 'x')], 1);
    await waitFor(() => seen.seqs.length === 1 && late.seen.seqs.length === 1, { what: 'live events' });
  });

  test('what a runner alone missed to send is announced to a gateway that was connected all the time', async () => {
    const proxy = await startProxy({ target: nats.port });
    const gateway = await start();
    const runner = connectBus({ url: proxy.url('nats'), name: 'runner', logger: silentLogger, streams: [] });
    open.push(runner);
    await runner.waitUntilConnected();
    const { seen } = await watch(gateway, 'run-1');
    proxy.refuse();
    proxy.cut();
    await waitFor(() => !runner.connected, { what: 'the loss' });
    runner.publishEvents('run-1', [custom(1, 'lost')], 1);
    proxy.accept();
    await waitFor(() => seen.markers.length === 1, { what: 'the announcement' });
    expect(seen).toMatchObject({ seqs: [], markers: [1], gaps: 0 });
    await proxy.stop();
  });

  test('a cancel reaches every subscriber with its action', async () => {
    const [gateway, runner, manager] = [await start(), await start(), await start()];
    const heard: string[] = [];
    for (const bus of [runner, manager]) bus.subscribeCancels((runId, action) => void heard.push(`${runId} ${action}`));
    await Promise.all([runner.ping(1_000), manager.ping(1_000)]);
    gateway.publishCancel('run-1', 'rollback');
    await waitFor(() => heard.length === 2, { what: 'both' });
    expect(heard).toEqual(['run-1 rollback', 'run-1 rollback']);
  });
});

import { UnavailableError } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import { DiscardPolicy, RetentionPolicy } from 'nats';
import { publish, startRunner, useWakes, type WakesFixture } from '../testing/wakes-fixture.js';

let fixture: WakesFixture;

useWakes((opened) => {
  fixture = opened;
});

describe('streams of wakes', () => {
  test('deleted streams and consumers are created again, and pulling continues', async () => {
    const bus = await fixture.startBus();
    const { wakes } = startRunner(bus);
    await publish(bus, 'before');
    await waitFor(() => wakes.length === 1, { what: 'the first wake' });
    await fixture.manager.consumers.delete('TURNS', 'runner');
    await publish(bus, 'no-consumer');
    await waitFor(() => wakes.length === 2, { what: 'the wake after the consumer was deleted' });
    await fixture.manager.streams.delete('TURNS');
    // As the sweeper does: a server that deletes and makes the same stream at once may lose what it confirmed meanwhile.
    const seen = async (): Promise<boolean> => {
      await publish(bus, 'no-stream');
      return wakes.some(({ threadId }) => threadId === 'no-stream');
    };
    await waitFor(seen, { what: 'the wake after the stream was deleted', timeoutMs: 14_000, everyMs: 200 });
  }, 20_000);

  test('an idle process creates its deleted stream again', async () => {
    await fixture.startBus();
    await fixture.manager.streams.delete('TURNS');
    await waitFor(async () => (await fixture.manager.consumers.info('TURNS', 'runner')).name === 'runner', {
      what: 'stream and consumer',
    });
  });

  test('a stream of another kind is named in the error and not changed', async () => {
    await fixture.manager.streams.add({ name: 'TURNS', subjects: ['turns.*.*'] });
    const bus = fixture.openBus();
    await bus.waitUntilConnected();
    await expect(bus.checkStreams()).rejects.toThrow(/TURNS exists with another retention/);
    expect((await fixture.manager.streams.info('TURNS')).config.retention).toBe('limits');
  });

  test('another ack wait is taken over by the existing consumer', async () => {
    await fixture.startBus();
    await fixture.startBus({ ackWaitMs: 4_000 });
    expect((await fixture.manager.consumers.info('TURNS', 'runner')).config.ack_wait).toBe(4_000_000_000);
  });

  test('processes of different settings that run side by side do not change them back and forth', async () => {
    const first = await fixture.startBus();
    await fixture.startBus({ ackWaitMs: 4_000 });
    await first.checkStreams();
    expect((await fixture.manager.consumers.info('TURNS', 'runner')).config.ack_wait).toBe(4_000_000_000);
  });

  test('what a newer version specified is not changed, not even by a process that starts', async () => {
    const older = await fixture.startBus();
    const { config: stream } = await fixture.manager.streams.info('TURNS');
    const { config: consumer } = await fixture.manager.consumers.info('TURNS', 'runner');
    const description = 'Caribou, specification 1000';
    await fixture.manager.streams.update('TURNS', { ...stream, description, max_msgs: 2_000_000 });
    await fixture.manager.consumers.update('TURNS', 'runner', { ...consumer, description, ack_wait: 9_000_000_000 });

    await older.checkStreams();
    const { wakes } = startRunner(await fixture.startBus());
    await publish(older, 't1');

    await waitFor(() => wakes.length === 1, { what: 'the wake' });
    expect((await fixture.manager.streams.info('TURNS')).config).toMatchObject({ description, max_msgs: 2_000_000 });
    const found = (await fixture.manager.consumers.info('TURNS', 'runner')).config;
    expect(found).toMatchObject({ description, ack_wait: 9_000_000_000 });
  });

  test('what an older version specified is brought up to date', async () => {
    await fixture.manager.streams.add({
      name: 'TURNS',
      subjects: ['turns.*.*'],
      retention: RetentionPolicy.Workqueue,
      discard: DiscardPolicy.New,
      max_msgs_per_subject: 1,
      discard_new_per_subject: true,
      max_msgs: 5,
    });
    await fixture.startBus();
    const { config } = await fixture.manager.streams.info('TURNS');
    expect(config).toMatchObject({ max_msgs: 1_000_000, description: 'Caribou, specification 1', num_replicas: 1 });
  });

  test('kill -9 of the server is survived: wakes stored before and published after it arrive', async () => {
    const bus = await fixture.startBus();
    await publish(bus, 'before');
    await fixture.nats.kill9();
    await waitFor(() => !bus.connected, { what: 'the loss' });
    await expect(publish(bus, 'during')).rejects.toThrow(UnavailableError);
    const { threads } = startRunner(bus);
    await fixture.nats.restart();
    await waitFor(() => bus.connected, { what: 'the reconnect' });
    await publish(bus, 'after');
    await waitFor(() => threads().length === 2, { what: 'both wakes' });
    expect(threads().sort()).toEqual(['after', 'before']);
  });

  test('a puller that waits while the server is killed receives wakes again after its restart', async () => {
    const bus = await fixture.startBus();
    const { wakes } = startRunner(bus);
    await waitFor(async () => (await fixture.manager.consumers.info('TURNS', 'runner')).num_waiting === 1, {
      what: 'its request',
    });
    await fixture.nats.restart();
    await waitFor(() => publish(bus, 't1').then(() => true), { what: 'a publish' });
    await waitFor(() => wakes.length === 1, { what: 'the wake' });
  });

  test('a bus starts while the server is away and works once it is there', async () => {
    await fixture.nats.kill9();
    const bus = fixture.openBus();
    expect(bus.connected).toBe(false);
    await expect(bus.ping(500)).rejects.toThrow(UnavailableError);
    const { wakes } = startRunner(bus);
    await fixture.nats.restart();
    await waitFor(() => publish(bus, 't1').then(() => true), { what: 'a publish' });
    await waitFor(() => wakes.length === 1, { what: 'the wake' });
  });
});

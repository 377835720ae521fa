import { streams, UnavailableError, wakeSubject } from '@caribou/contracts';
import { silentLogger } from '@caribou/core';
import { waitFor } from '@caribou/testing';
import { publish, startRunner, useWakes, type WakesFixture } from '../testing/wakes-fixture.js';

let fixture: WakesFixture;

useWakes((opened) => {
  fixture = opened;
});

describe('wakes', () => {
  test('a second wake of a waiting thread is success and is not stored', async () => {
    const bus = await fixture.startBus();
    await publish(bus, 't1');
    await publish(bus, 't1');
    await publish(bus, 't2');
    expect(await fixture.countWakes()).toBe(2);
  });

  test('every thread is handed over once and its acked wake is gone', async () => {
    const bus = await fixture.startBus();
    const { wakes, threads } = startRunner(bus);
    const ids = Array.from({ length: 20 }, (_, index) => `t${index}`);
    await Promise.all(ids.map((id) => publish(bus, id)));
    await waitFor(() => wakes.length === 20, { what: 'all wakes' });
    expect(threads().sort()).toEqual(ids.sort());
    expect(wakes.every(({ redelivered }) => !redelivered)).toBe(true);
    await waitFor(async () => (await fixture.countWakes()) === 0, { what: 'an empty stream' });
  });

  test('no more handlers run than there are slots, and waiting wakes are not taken from the server', async () => {
    const bus = await fixture.startBus({ ackWaitMs: 30_000 });
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const { wakes } = startRunner(bus, {
      slots: 2,
      handle: async (wake) => {
        wakes.push(wake);
        await gate;
        await wake.ack();
      },
    });
    for (let index = 0; index < 5; index += 1) await publish(bus, `t${index}`);
    await waitFor(() => wakes.length === 2, { what: 'two handlers' });
    const { num_ack_pending, num_pending } = await fixture.manager.consumers.info(
      streams.turns.name,
      streams.turns.consumer,
    );
    expect({ num_ack_pending, num_pending }).toEqual({ num_ack_pending: 2, num_pending: 3 });
    release();
    await waitFor(() => wakes.length === 5, { what: 'the rest' });
  });

  test('a wake that is not acknowledged is delivered again, to any runner', async () => {
    const [first, second] = [await fixture.startBus(), await fixture.startBus()];
    const silent = startRunner(first, {
      handle: (wake) => {
        silent.wakes.push(wake);
        silent.pull.stop();
        return Promise.resolve();
      },
    });
    await publish(first, 't1');
    await waitFor(() => silent.wakes.length === 1, { what: 'the first delivery' });

    const { wakes } = startRunner(second);

    await waitFor(() => wakes.length === 1, { what: 'the second delivery' });
    expect([...silent.wakes, ...wakes].map(({ redelivered }) => redelivered)).toEqual([false, true]);
    await waitFor(async () => (await fixture.countWakes()) === 0, { what: 'an empty stream' });
  });

  test('a stopped puller hands nothing over and nacks what still arrives', async () => {
    const [draining, other] = [
      await fixture.startBus({ ackWaitMs: 60_000 }),
      await fixture.startBus({ ackWaitMs: 60_000 }),
    ];
    const stopped = startRunner(draining);
    await waitFor(async () => (await fixture.manager.consumers.info('TURNS', 'runner')).num_waiting === 1, {
      what: 'its request',
    });
    stopped.pull.stop();
    const { wakes } = startRunner(other);
    await publish(other, 't1');
    await waitFor(() => wakes.length === 1, { what: 'the wake at the other' });
    expect(stopped.wakes).toHaveLength(0);
  });

  test('a malformed wake goes to the dead letters and the next one is handed over', async () => {
    const bus = await fixture.startBus();
    const { wakes } = startRunner(bus);
    await fixture.raw.jetstream().publish('turns.default.$strange', 'no json');
    await fixture.raw
      .jetstream()
      .publish(wakeSubject('turns', 'default', 't2'), JSON.stringify({ user_id: 'other', thread_id: 't2', v: 1 }));
    await publish(bus, 'good');
    await waitFor(() => wakes.length === 1, { what: 'the good wake' });
    await waitFor(async () => (await fixture.manager.streams.info('DEAD_LETTERS')).state.messages === 2, {
      what: 'the dead letters',
    });
    await waitFor(async () => (await fixture.countWakes()) === 0, { what: 'an empty stream' });
    const letter = await fixture.manager.streams.getMessage('DEAD_LETTERS', { seq: 1 });
    expect(letter.json()).toMatchObject({ subject: 'turns.default.$strange', payload: 'no json' });
  });

  test('a wake of a newer version is handled, with a warning, and blocks no further wake of its thread', async () => {
    const warn = jest.fn();
    const bus = await fixture.startBus({ logger: { ...silentLogger, warn } });
    const { wakes, threads } = startRunner(bus);
    const newer = JSON.stringify({ tenant: 'default', v: 2 });
    await fixture.raw.jetstream().publish(wakeSubject('turns', 'default', 't1'), newer);
    await waitFor(() => wakes.length === 1, { what: 'the newer wake' });
    await waitFor(async () => (await fixture.countWakes()) === 0, { what: 'an empty stream' });
    await publish(bus, 't1');
    await waitFor(() => wakes.length === 2, { what: 'the own wake' });
    expect(threads()).toEqual(['t1', 't1']);
    expect(warn).toHaveBeenCalledWith(
      { subject: 'turns.default.t1', count: 1 },
      expect.stringMatching(/wakes of a newer version/),
    );
  });

  test('a full stream is a refusal, not a wake that waits already', async () => {
    const bus = await fixture.startBus();
    const { config } = await fixture.manager.streams.info('TURNS');
    await fixture.manager.streams.update('TURNS', { ...config, max_msgs: 1 });
    expect(await bus.wakes('turns').publish({ userId: 'default', threadId: 't1' })).toBe('stored');
    expect(await bus.wakes('turns').publish({ userId: 'default', threadId: 't1' })).toBe('waiting');
    await expect(publish(bus, 't2')).rejects.toThrow(UnavailableError);
    await expect(bus.wakes('turns').checkPublishing()).rejects.toThrow(UnavailableError);

    await fixture.manager.streams.purge('TURNS');

    await bus.wakes('turns').checkPublishing();
    expect(await publish(bus, 't2')).toBe('waiting');
  });

  test('a handler that fails keeps its wake unsettled and the puller alive', async () => {
    const bus = await fixture.startBus();
    let calls = 0;
    const { pull } = startRunner(bus, {
      handle: async (wake) => {
        calls += 1;
        if (calls === 1) throw new Error('broken');
        await wake.ack();
      },
    });
    await publish(bus, 't1');
    await waitFor(() => calls === 2, { what: 'the redelivery' });
    await pull.idle();
    await waitFor(async () => (await fixture.countWakes()) === 0, { what: 'an empty stream' });
  });
});

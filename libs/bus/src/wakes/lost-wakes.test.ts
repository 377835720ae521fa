import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { streams, type WakeRole, wakeSubject } from '@caribou/contracts';
import { silentLogger } from '@caribou/core';
import { startNats, type TestServer, waitFor } from '@caribou/testing';
import { connect, type JetStreamManager, type NatsConnection } from 'nats';
import { type Bus, connectBus, type Wake } from '../index.js';

/** Never within a test: streams are then only checked at each connect. */
const NEVER_MS = 3_600_000;
/** Messages that a stream loses. */
const LOST = 10;

const thread = (threadId: string) => ({ userId: 'default', threadId });

const roles: readonly WakeRole[] = ['turns', 'subagents', 'memory'];

/**
 * kill -9 of nats-server between the write of a consumer's state and the removal of a message that it acknowledged: the
 * message is in the stream again, behind the position of the consumer. Built from two states of the store on disk.
 */
describe('a lost wake', () => {
  let nats: TestServer;
  let raw: NatsConnection;
  let manager: JetStreamManager;
  const open: Bus[] = [];

  beforeEach(async () => {
    nats = await startNats();
    raw = await connect({ servers: nats.url, maxReconnectAttempts: -1, reconnectTimeWait: 50 });
    manager = await raw.jetstreamManager();
  });

  afterEach(async () => {
    await Promise.all(open.splice(0).map((bus) => bus.close(200)));
    await raw.close();
    await nats.stop();
  });

  const start = async (checkMs: number): Promise<Bus> => {
    const bus = connectBus({ url: nats.url, name: 'test', logger: silentLogger, streams: roles, checkMs });
    open.push(bus);
    await bus.waitUntilConnected();
    await bus.checkStreams();
    return bus;
  };

  /** Acknowledges all wakes but those of the thread `held`; the ids of threads by role. */
  const pullAll = (bus: Bus) => {
    const taken: Record<WakeRole, string[]> = { turns: [], subagents: [], memory: [] };
    for (const role of roles) {
      bus.wakes(role).pull({
        slots: 4,
        handle: async (wake) => {
          taken[role].push(wake.threadId);
          if (wake.threadId !== 'held') await wake.ack();
        },
      });
    }
    return taken;
  };

  const streamDir = (role: WakeRole) =>
    join(nats.dataDir, 'jetstream', 'jetstream', '$G', 'streams', streams[role].name);
  const messagesDir = (role: WakeRole) => join(streamDir(role), 'msgs');
  const copyDir = (role: WakeRole) => join(nats.dataDir, 'copy', role);
  const allStore = (count: number, what: string) =>
    waitFor(
      async () => {
        const infos = await Promise.all(roles.map((role) => manager.streams.info(streams[role].name)));
        return infos.every(({ state }) => state.messages === count);
      },
      { what },
    );

  const stateFile = (role: WakeRole) => join(streamDir(role), 'obs', streams[role].consumer, 'o.dat');
  const writtenStates = new Map<WakeRole, Buffer>();

  /** Waits until the consumers' states on disk have all wakes delivered, and `held` of them unacknowledged. */
  async function awaitStates(delivered: number, held: number): Promise<void> {
    for (const role of roles)
      await waitFor(
        async () => {
          const state = await readFile(stateFile(role));
          // After two bytes of format and one of the consumer's own numbers: numbers below 128, a byte each.
          const [floor = 0, , last = 0, unacknowledged] = state.subarray(3);
          writtenStates.set(role, state);
          return unacknowledged === held && Math.max(floor, last) === delivered;
        },
        { what: 'the state of the consumer' },
      );
  }

  /** Puts the old messages beside the new states. A server that ends can leave a state that is written half. */
  async function restoreMessages(): Promise<void> {
    for (const role of roles) {
      await rm(messagesDir(role), { recursive: true });
      await cp(copyDir(role), messagesDir(role), { recursive: true });
      const state = writtenStates.get(role);
      if (state === undefined) throw new Error(`the state of the consumer of ${role} was not waited for`);
      await writeFile(stateFile(role), state);
    }
    await nats.restart();
  }

  /** Leaves the wakes of 'lost' in the streams though they were acknowledged, and the server running. */
  async function loseWakes(before: readonly string[]): Promise<void> {
    const bus = await start(NEVER_MS);
    for (const role of roles) for (const id of [...before, 'lost']) await bus.wakes(role).publish(thread(id));
    await nats.kill9();
    for (const role of roles) await cp(messagesDir(role), copyDir(role), { recursive: true });
    await nats.restart();
    await waitFor(() => bus.connected, { what: 'the reconnect' });
    const taken = pullAll(bus);
    await waitFor(() => roles.every((role) => taken[role].includes('lost')), { what: 'the wakes' });
    await allStore(before.length, 'the acknowledgements');
    await awaitStates(before.length + 1, before.length);
    await bus.close();
    await nats.terminate();
    await restoreMessages();
    await allStore(before.length + 1, 'the wakes in the streams');
  }

  /** Leaves the streams without the messages that were written last, which the consumers have acknowledged. */
  async function loseEnd(): Promise<void> {
    const bus = await start(NEVER_MS);
    for (const role of roles) await bus.wakes(role).publish(thread('first'));
    const taken = pullAll(bus);
    await allStore(0, 'the acknowledgements');
    await nats.kill9();
    for (const role of roles) await cp(messagesDir(role), copyDir(role), { recursive: true });
    await nats.restart();
    await waitFor(() => bus.connected, { what: 'the reconnect' });
    for (const role of roles) for (let n = 0; n < LOST; n += 1) await bus.wakes(role).publish(thread(`lost-${n}`));
    await waitFor(() => roles.every((role) => taken[role].length === LOST + 1), { what: 'the wakes' });
    await awaitStates(LOST + 1, 0);
    await bus.close();
    await nats.terminate();
    await restoreMessages();
  }

  test('is none that was published after the stream has lost its end', async () => {
    await loseEnd();
    await allStore(0, 'the streams');
    const { name, consumer } = streams.turns;
    const { delivered } = await manager.consumers.info(name, consumer);
    expect(delivered.stream_seq).toBeGreaterThan((await manager.streams.info(name)).state.last_seq);

    const bus = await start(100);
    const taken = pullAll(bus);
    for (const role of roles) await bus.wakes(role).publish(thread('next'));

    await waitFor(() => roles.every((role) => taken[role].includes('next')), { what: 'the wakes' });
    await allStore(0, 'the acknowledgements');
  });

  test('is removed by a look at the streams, so that the next wake of its thread arrives', async () => {
    await loseWakes([]);
    const { name, consumer } = streams.turns;
    expect(await manager.consumers.info(name, consumer)).toMatchObject({ num_pending: 0, num_ack_pending: 0 });

    const bus = await start(100);
    const taken = pullAll(bus);
    await allStore(0, 'empty streams');
    for (const role of roles) await bus.wakes(role).publish(thread('lost'));

    await waitFor(() => roles.every((role) => taken[role].length === 1), { what: 'the wakes' });
  });

  test('is removed while an older wake was out, of which the consumer forgets nothing', async () => {
    await loseWakes(['held']);
    expect(await manager.consumers.info('TURNS', streams.turns.consumer)).toMatchObject({ num_ack_pending: 1 });
    const bus = await start(NEVER_MS);
    const taken = pullAll(bus);
    for (const role of roles) {
      expect(await bus.wakes(role).publish(thread('lost'))).toBe('stored');
      expect(await bus.wakes(role).replaceLost(thread('other'))).toBe(false);
    }
    await waitFor(() => roles.every((role) => taken[role].includes('lost')), { what: 'the wakes' });
    await allStore(0, 'the acknowledgements');
    expect(await manager.consumers.info('TURNS', streams.turns.consumer)).toMatchObject({ num_ack_pending: 0 });
  });

  test('is replaced without a trace in the deliveries of others', async () => {
    const bus = await start(NEVER_MS);
    const wakes = bus.wakes('turns');
    const held: Wake[] = [];
    wakes.pull({ slots: 4, handle: (wake) => Promise.resolve(void held.push(wake)) });
    for (const id of ['lost', 'other']) await wakes.publish(thread(id));
    await waitFor(() => held.length === 2, { what: 'the wakes' });

    expect(await wakes.replaceLost(thread('lost'))).toBe(true);
    await waitFor(() => held.length === 3, { what: 'the new wake' });
    expect(await held.find(({ threadId }) => threadId === 'other')?.ack()).toBe(true);

    expect(held.map(({ threadId }) => threadId)).toEqual(['lost', 'other', 'lost']);
    expect((await manager.streams.info('TURNS')).state.messages).toBe(1);
  });

  test('is removed when the consumer has forgotten that it is out', async () => {
    const bus = await start(NEVER_MS);
    const held: Wake[] = [];
    bus.wakes('turns').pull({ slots: 4, handle: (wake) => Promise.resolve(void held.push(wake)) });
    await bus.wakes('turns').publish(thread('forgotten'));
    await waitFor(() => held.length === 1, { what: 'the wake' });
    // What any purge does at this server.
    await manager.streams.purge('TURNS', { filter: wakeSubject('turns', 'default', 'none') });
    expect(await manager.consumers.info('TURNS', streams.turns.consumer)).toMatchObject({ num_ack_pending: 0 });
    expect(await bus.wakes('turns').publish(thread('forgotten'))).toBe('waiting');

    await start(100);
    await waitFor(async () => (await manager.streams.info('TURNS')).state.messages === 0, { what: 'its removal' });

    expect(await bus.wakes('turns').publish(thread('forgotten'))).toBe('stored');
    await waitFor(() => held.length === 2, { what: 'the next wake' });
  });

  test('is not taken for one that the consumer has not delivered yet', async () => {
    const bus = await start(NEVER_MS);
    await bus.wakes('turns').publish(thread('waiting'));
    expect(await bus.wakes('turns').replaceLost(thread('waiting'))).toBe(false);
    expect((await manager.streams.info('TURNS')).state.last_seq).toBe(1);
  });
});

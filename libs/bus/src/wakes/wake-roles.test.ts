import { streams, type WakeRole } from '@caribou/contracts';
import { silentLogger } from '@caribou/core';
import { startNats, type TestServer, waitFor } from '@caribou/testing';
import { connect, type JetStreamManager, type NatsConnection } from 'nats';
import { type Bus, connectBus, type PullOptions, type WakePull } from '../index.js';

const roles: readonly { role: WakeRole; other: WakeRole }[] = [
  { role: 'turns', other: 'subagents' },
  { role: 'subagents', other: 'turns' },
];
const thread = (threadId: string) => ({ userId: 'default', threadId });

describe.each(roles)('wakes of $role', ({ role, other }) => {
  let nats: TestServer;
  let raw: NatsConnection;
  let manager: JetStreamManager;
  let bus: Bus;

  beforeEach(async () => {
    nats = await startNats();
    raw = await connect({ servers: nats.url });
    manager = await raw.jetstreamManager();
    bus = connectBus({ url: nats.url, name: 'test', logger: silentLogger, streams: [role, other], checkMs: 200 });
    await bus.waitUntilConnected();
    await bus.checkStreams();
  });

  afterEach(async () => {
    await bus.close(200);
    await raw.close();
    await nats.stop();
  });

  const waiting = async (of: WakeRole): Promise<number> =>
    (await manager.streams.info(streams[of].name)).state.messages;

  const runner = (of: WakeRole, options: Partial<PullOptions> = {}): { taken: string[]; pull: WakePull } => {
    const taken: string[] = [];
    const pull = bus.wakes(of).pull({
      slots: 2,
      handle: async (wake) => {
        taken.push(wake.threadId);
        await wake.ack();
      },
      ...options,
    });
    return { taken, pull };
  };

  test('are handed over once, whoever pulls, and a second wake of a waiting thread is not stored', async () => {
    for (const id of ['t1', 't1', 't2']) await bus.wakes(role).publish(thread(id));
    expect(await waiting(role)).toBe(2);
    const [one, two] = [runner(role), runner(role)];
    await waitFor(async () => (await waiting(role)) === 0, { what: 'an empty stream' });
    expect([...one.taken, ...two.taken].sort()).toEqual(['t1', 't2']);
  });

  test('never reach who pulls for the other role, and one thread may wait in both streams', async () => {
    const stranger = runner(other);
    await bus.wakes(role).publish(thread('t1'));
    await bus.wakes(other).publish(thread('t1'));
    await bus.wakes(other).publish(thread('t2'));
    await waitFor(() => stranger.taken.length === 2, { what: 'the wakes of the other role' });
    expect(await waiting(role)).toBe(1);
    const own = runner(role);
    await waitFor(() => own.taken.length === 1, { what: 'the own wake' });
    expect(stranger.taken).toEqual(['t1', 't2']);
  });

  test('have runners as long as somebody asks for one or holds one', async () => {
    expect(await bus.wakes(role).hasRunners()).toBe(false);
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { pull } = runner(role, {
      slots: 1,
      handle: async (wake) => {
        pull.stop();
        await held;
        await wake.ack();
      },
    });
    await waitFor(() => bus.wakes(role).hasRunners(), { what: 'a request' });
    await bus.wakes(role).publish(thread('t1'));
    await waitFor(
      async () => (await manager.consumers.info(streams[role].name, streams[role].consumer)).num_ack_pending === 1,
      {
        what: 'the handler',
      },
    );
    expect(await bus.wakes(role).hasRunners()).toBe(true);
    expect(await bus.wakes(other).hasRunners()).toBe(false);
    release();
    await pull.idle();
    await waitFor(async () => !(await bus.wakes(role).hasRunners()), { what: 'nobody' });
  });

  test('come again through a stream that was deleted', async () => {
    const { taken } = runner(role);
    await waitFor(() => bus.wakes(role).hasRunners(), { what: 'a request' });
    await manager.streams.delete(streams[role].name);
    // As the sweeper does: a server that deletes and makes the same stream at once may lose what it confirmed meanwhile.
    const seen = async (): Promise<boolean> => {
      await bus.wakes(role).publish(thread('t1'));
      return taken.includes('t1');
    };
    await waitFor(seen, { what: 'the wake', timeoutMs: 14_000, everyMs: 200 });
  }, 20_000);

  test('are pulled for either role until the bus is closed', async () => {
    runner(role);
    runner(other);
    for (const each of [role, other]) {
      await waitFor(() => bus.wakes(each).hasRunners(), { what: `a request for ${each}` });
    }
    await bus.close(200);
    for (const each of [role, other]) {
      const { name, consumer } = streams[each];
      const left = async (): Promise<boolean> => (await manager.consumers.info(name, consumer)).num_waiting === 0;
      await waitFor(left, { what: `nobody who asks for ${each}` });
    }
  });
});

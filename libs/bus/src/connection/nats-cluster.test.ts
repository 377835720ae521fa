import { UnavailableError } from '@caribou/contracts';
import { silentLogger } from '@caribou/core';
import { type NatsCluster, startNatsCluster, waitFor } from '@caribou/testing';
import { type ClusterInfo, connect, type JetStreamManager, type NatsConnection } from 'nats';
import { type Bus, connectBus } from '../index.js';

jest.setTimeout(240_000);

/** A wake whose ack was lost with its server is delivered again after the ack deadline, by whichever server leads then, maybe more than once. */
const REDELIVERED_MS = 60_000;

describe('a cluster of three nats-servers', () => {
  let cluster: NatsCluster;
  let raw: NatsConnection;
  let manager: JetStreamManager;

  // A nats-server 2.9 may leave a consumer whose copies were raised without a leader when the server that had the first one is killed.
  // So a test that kills begins with streams that have had three copies from the start.
  beforeEach(async () => {
    cluster = await startNatsCluster();
    raw = await connect({ servers: cluster.nodes.map(({ url }) => url), maxReconnectAttempts: -1 });
    manager = await raw.jetstreamManager({ checkAPI: false });
  });
  afterEach(async () => {
    await raw.close();
    await cluster.stop();
  });

  /** A bus whose streams exist, which takes a moment after the start of the cluster. */
  async function openBus(replicas: number): Promise<Bus> {
    const bus = connectBus({
      url: cluster.url,
      name: 'test',
      logger: silentLogger,
      streams: ['turns', 'deadLetters'],
      checkMs: 200,
      replicas,
    });
    const hasStreams = () => bus.checkStreams().then(() => true);
    await waitFor(hasStreams, { what: 'the streams', everyMs: 100 });
    return bus;
  }
  /** Waits until the streams and their consumers, which are groups of their own, have three current copies. */
  const waitForCopies = async (): Promise<void> => {
    const areComplete = async (): Promise<boolean> => {
      const groups: (ClusterInfo | undefined)[] = [];
      for (const stream of ['TURNS', 'DEAD_LETTERS']) {
        const { cluster: group, state } = await manager.streams.info(stream);
        const consumers = await manager.consumers.list(stream).next();
        // One without a leader is counted, and not listed.
        if (consumers.length < state.consumer_count) return false;
        groups.push(group, ...consumers.map(({ cluster: copies }) => copies));
      }
      return groups.every((group) => group?.replicas?.filter(({ current }) => current).length === 2);
    };
    await waitFor(areComplete, { what: 'three copies of streams and consumers', everyMs: 100 });
  };

  test('streams that exist get more copies from the next process that is started with more, and keep their wakes', async () => {
    const before = await openBus(1);
    await before.wakes('turns').publish({ userId: 'default', threadId: 'waits' });
    expect((await manager.streams.info('TURNS')).config.num_replicas).toBe(1);
    await before.close();

    const after = await openBus(3);

    for (const stream of ['TURNS', 'DEAD_LETTERS']) {
      expect((await manager.streams.info(stream)).config.num_replicas).toBe(3);
    }
    await waitForCopies();
    const woken: string[] = [];
    const pull = after.wakes('turns').pull({
      slots: 1,
      handle: async (wake) => {
        woken.push(wake.threadId);
        await wake.ack();
      },
    });
    await waitFor(() => woken.includes('waits'), { what: 'the wake' });
    pull.stop();
    await after.close();
  });

  test('a server that is killed under load costs no wake: every one that was stored is delivered', async () => {
    const bus = await openBus(3);
    const woken = new Set<string>();
    const pull = bus.wakes('turns').pull({
      slots: 8,
      handle: async (wake) => {
        woken.add(wake.threadId);
        await wake.ack();
      },
    });
    const stored: string[] = [];
    let publishing = true;
    const publisher = (async () => {
      for (let index = 0; publishing; index += 1) {
        const threadId = `loaded-${index}`;
        try {
          await bus.wakes('turns').publish({ userId: 'default', threadId });
          stored.push(threadId);
        } catch (error) {
          if (!(error instanceof UnavailableError)) throw error;
          await bus.waitUntilConnected(AbortSignal.timeout(20_000));
        }
      }
    })();
    await waitFor(() => stored.length > 200, { what: 'load' });
    await waitForCopies();
    const leader = (await manager.streams.info('TURNS')).cluster?.leader ?? 'n0';
    const node = cluster.nodes[Number(leader.slice(1))];

    await node?.kill9();

    const killedAt = stored.length;
    // Each wake is stored by a majority before the next one is published, which is slow on a busy machine.
    await waitFor(() => stored.length > killedAt + 200, { what: 'load without it', timeoutMs: 2 * REDELIVERED_MS });
    publishing = false;
    await publisher;
    await waitFor(() => stored.every((threadId) => woken.has(threadId)), {
      what: 'all wakes',
      timeoutMs: REDELIVERED_MS,
    });
    pull.stop();
    await node?.restart();
    await bus.close();
  });
});

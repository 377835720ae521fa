import { streams } from '@caribou/contracts';
import { silentLogger } from '@caribou/core';
import { startNats, type TestServer } from '@caribou/testing';
import { connect, type JetStreamManager, type NatsConnection } from 'nats';
import { type Bus, type BusOptions, connectBus, type PublishedWake, type PullOptions, type Wake } from '../index.js';

export const publish = (bus: Bus, threadId: string): Promise<PublishedWake> =>
  bus.wakes('turns').publish({ userId: 'default', threadId });

/** A runner that records the wakes that it gets and acknowledges them. */
export function startRunner(bus: Bus, options: Partial<PullOptions> = {}) {
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
}

/** A NATS of its own, a connection without the bus, and the buses of a test. */
export class WakesFixture {
  private readonly buses: Bus[] = [];

  private constructor(
    readonly nats: TestServer,
    readonly raw: NatsConnection,
    readonly manager: JetStreamManager,
  ) {}

  static async open(): Promise<WakesFixture> {
    const nats = await startNats();
    const raw = await connect({ servers: nats.url });
    return new WakesFixture(nats, raw, await raw.jetstreamManager());
  }

  async close(): Promise<void> {
    await Promise.all(this.buses.splice(0).map((bus) => bus.close(200)));
    await this.raw.close();
    await this.nats.stop();
  }

  /** Opens a bus without waiting for its connection; it is closed after the test. */
  openBus(options: Partial<BusOptions> = {}): Bus {
    const bus = connectBus({ url: this.nats.url, name: 'test', logger: silentLogger, streams: ['turns'], ...options });
    this.buses.push(bus);
    return bus;
  }

  /** Opens a bus whose streams exist. */
  async startBus(options: Partial<BusOptions> = {}): Promise<Bus> {
    const bus = this.openBus({ streams: ['turns', 'deadLetters'], ackWaitMs: 1_000, checkMs: 200, ...options });
    await bus.waitUntilConnected();
    await bus.checkStreams();
    return bus;
  }

  /** How many wakes the stream has. */
  async countWakes(): Promise<number> {
    return (await this.manager.streams.info(streams.turns.name)).state.messages;
  }
}

/** Opens a fixture before each test of the file and closes it afterwards. */
export function useWakes(receive: (fixture: WakesFixture) => void): void {
  let fixture: WakesFixture;

  beforeEach(async () => {
    fixture = await WakesFixture.open();
    receive(fixture);
  });

  afterEach(() => fixture.close());
}

import {
  managerSubject,
  SandboxAcquire,
  SandboxCancel,
  sandboxOperations,
  SandboxRelease,
  toWireError,
} from '@caribou/contracts';
import { decodeAttached, hasAttachments, type SandboxPort, silentLogger } from '@caribou/core';
import { startNats, type TestServer } from '@caribou/testing';
import { connect, type Msg, type NatsConnection } from 'nats';
import { type Bus, connectBus, createRemoteSandbox } from '../index.js';

type Handler = (request: Record<string, unknown>) => unknown;

export const scope = { userId: 'default', threadId: 't1', epoch: 7 };
export const request = { key: 'run:call', command: 'true', timeout_ms: 1_000, max_output_bytes: 2_048 };

/** The reply to an executed command. */
export const done = {
  ...{ outcome: 'done', exit_code: 0, stdout: 'out', stderr: '', truncated_bytes: 0 },
  ...{ timed_out: false, cancelled: false, duration_ms: 3 },
};

export const forever = (): Promise<never> => new Promise(() => undefined);

const acquired = (id: string) => ({ sandbox_id: `box-${id}`, manager_id: id, driver: 'bwrap' });
const binding = (id: string) => ({ sandboxId: `box-${id}`, managerId: id, driver: 'bwrap' as const });

/** The remote sandbox of a runner, a NATS of its own, and the managers that a test starts on it. */
export class RemoteSandboxFixture {
  /** The id of the manager that has the sandbox. While it is undefined, a manager that is asked takes it. */
  holder: string | undefined;
  readonly sandbox: SandboxPort;
  private readonly alive = new Set<string>();
  private readonly connections: NatsConnection[] = [];

  private constructor(
    readonly nats: TestServer,
    readonly bus: Bus,
  ) {
    this.sandbox = createRemoteSandbox({
      bus,
      registry: {
        isManagerAlive: async (id) => this.alive.has(id),
        binding: async () => (this.holder === undefined ? null : binding(this.holder)),
      },
      journal: { find: async () => ({ state: 'new' }), withdraw: async () => ({ state: 'withdrawn' }) },
      logger: silentLogger,
      lookMs: 50,
      acquireMs: 300,
    });
  }

  static async open(): Promise<RemoteSandboxFixture> {
    const nats = await startNats();
    const bus = connectBus({ url: nats.url, name: 'runner', logger: silentLogger, streams: [] });
    await bus.waitUntilConnected();
    return new RemoteSandboxFixture(nats, bus);
  }

  async close(): Promise<void> {
    await this.bus.close(200);
    await Promise.all(this.connections.splice(0).map((connection) => connection.close()));
    await this.nats.stop();
  }

  /** Starts a manager in Nest's packet format: it acquires by queue group and serves its own subjects. */
  async startManager(id: string, handlers: Readonly<Record<string, Handler>>): Promise<NatsConnection> {
    const connection = await connect({ servers: this.nats.url });
    this.connections.push(connection);
    this.alive.add(id);
    const acquire = handlers['acquire'] ?? (() => acquired(this.holder ?? id));
    serve(connection, { subject: SandboxAcquire.name, handle: acquire, queue: 'managers' });
    for (const contract of [...Object.values(sandboxOperations), SandboxCancel, SandboxRelease]) {
      const handle = handlers[contract.name];
      if (handle !== undefined) serve(connection, { subject: managerSubject(id, contract), handle });
    }
    await connection.flush();
    return connection;
  }

  async stopManager(id: string, connection: NatsConnection): Promise<void> {
    this.alive.delete(id);
    await connection.close();
  }
}

interface Service {
  readonly subject: string;
  readonly handle: Handler;
  readonly queue?: string;
}

interface Packet {
  readonly id: string;
  readonly data: Record<string, unknown>;
  /** Names and lengths of the texts that follow the JSON. */
  readonly attached?: unknown;
}

/** The request's fields, with what is attached as the field `attached`. */
function packetOf(message: Msg): Packet {
  if (!hasAttachments(message.data)) return message.json<Packet>();
  const packet = decodeAttached(message.data).value as Packet;
  return { ...packet, data: { ...packet.data, attached: packet.attached } };
}

function serve(connection: NatsConnection, { subject, handle, queue }: Service): void {
  connection.subscribe(subject, {
    ...(queue === undefined ? {} : { queue }),
    callback: (_, message) => {
      const packet = packetOf(message);
      const answer = async (): Promise<object> => {
        try {
          return { response: await handle(packet.data) };
        } catch (cause) {
          return { err: toWireError(cause) };
        }
      };
      void answer().then((reply) => message.respond(JSON.stringify({ ...reply, isDisposed: true, id: packet.id })));
    },
  });
}

/** Opens a fixture before each test of the file and closes it afterwards. */
export function useRemoteSandbox(receive: (fixture: RemoteSandboxFixture) => void): void {
  let fixture: RemoteSandboxFixture;

  beforeEach(async () => {
    fixture = await RemoteSandboxFixture.open();
    receive(fixture);
  });

  afterEach(() => fixture.close());
}

import { connect, createServer, type Server, type Socket } from 'node:net';
import { type AgentEgress, EGRESS_PREAMBLE } from '@caribou/contracts';

const MAX_CONNECTIONS = 128;
/** The manager's proxy answers a connection within this time. */
const CONNECT_MS = 10_000;

/** Listens on the loopback of the sandbox and passes each connection on to the manager's proxy, which decides where it may go. */
export class EgressRelay {
  private server: Server | undefined;
  private target: AgentEgress | null = null;
  private readonly open = new Set<Socket>();

  /** @param port of the HTTP proxy that programs in the sandbox find in their environment */
  constructor(private readonly port: number) {}

  /** Listens while there is a target. @throws a system error when the port is taken */
  async use(target: AgentEgress | null): Promise<void> {
    this.target = target;
    if (target === null) return this.stop();
    if (this.server === undefined) this.server = await this.listen();
  }

  /** Cuts the connections off that a command has left. */
  cut(): void {
    for (const socket of this.open) socket.destroy();
  }

  private stop(): void {
    this.server?.close();
    this.server = undefined;
    this.cut();
  }

  private listen(): Promise<Server> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.pass(client));
    server.maxConnections = MAX_CONNECTIONS;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.port, '127.0.0.1', () => {
        server.off('error', reject);
        // A connection that was not accepted, for want of descriptors, is its client's loss.
        server.on('error', () => undefined);
        resolve(server);
      });
    });
  }

  private pass(client: Socket): void {
    const { target } = this;
    if (target === null) {
      client.destroy();
      return;
    }
    const proxy = connect({ host: target.host, port: target.port, allowHalfOpen: true, noDelay: true });
    const late = setTimeout(() => proxy.destroy(), CONNECT_MS);
    proxy.once('connect', () => clearTimeout(late));
    proxy.once('close', () => clearTimeout(late));
    proxy.write(`${EGRESS_PREAMBLE}${target.token}\n`);
    for (const [from, to] of [
      [client, proxy],
      [proxy, client],
    ] as const) {
      this.open.add(from);
      from.pipe(to);
      from.once('error', () => to.destroy());
      from.once('close', () => {
        this.open.delete(from);
        to.destroySoon();
      });
    }
  }
}

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type AgentEgress, UnavailableError } from '@caribou/contracts';
import { errnoOf, type Logger } from '@caribou/core';
import type { SandboxSpec } from '../../drivers/driver.js';
import type { SandboxNetwork } from '../../drivers/sandbox-network.js';

export interface PodEgressOptions {
  readonly network: SandboxNetwork;
  /** The address by which pods reach this process. */
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly logger?: Pick<Logger, 'warn'>;
}

/** The first line of a connection: `caribou-egress 1 <token>`. */
const GREETING = /^caribou-egress 1 ([\w-]{16,128})$/;
const MAX_GREETING_BYTES = 256;
const GREETING_MS = 5_000;
const MAX_CONNECTIONS = 4_096;
const TOKEN_BYTES = 32;
const NEW_LINE = 0x0a;

/**
 * Takes the connections of pods to the egress proxy. Each begins with a token, which names the sandbox that it comes
 * from; without a valid one it is closed. A token is made for one pod and ends with it.
 */
export class PodEgress {
  private readonly sandboxes = new Map<string, SandboxSpec>();
  private readonly sockets = new Set<Socket>();
  private server: Promise<Server> | undefined;

  constructor(private readonly options: PodEgressOptions) {}

  /** Where a new pod of the sandbox sends its connections. @throws {UnavailableError} when the port cannot be opened */
  async open(sandbox: SandboxSpec): Promise<AgentEgress> {
    const { host } = this.options;
    const port = await this.listen();
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    this.sandboxes.set(token, sandbox);
    return { host, port, token };
  }

  /** Ends the rights of a pod. Idempotent. */
  end({ token }: AgentEgress): void {
    this.sandboxes.delete(token);
  }

  /** The port on which it listens from now on. @throws {UnavailableError} */
  async listen(): Promise<number> {
    this.server ??= this.createServer();
    try {
      return ((await this.server).address() as AddressInfo).port;
    } catch (cause) {
      this.server = undefined;
      const { port } = this.options;
      throw new UnavailableError(
        `sandbox.kubernetes.proxy_port: ${port} cannot be opened (${errnoOf(cause) ?? 'closed'})`,
        { cause, details: { dependency: 'kubernetes' } },
      );
    }
  }

  async close(): Promise<void> {
    const server = await this.server?.catch(() => undefined);
    this.server = undefined;
    this.sandboxes.clear();
    for (const socket of this.sockets) socket.destroy();
    if (server?.listening === true) await new Promise((resolve) => server.close(resolve));
  }

  private async createServer(): Promise<Server> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.greet(socket));
    server.maxConnections = MAX_CONNECTIONS;
    server.listen(this.options.port);
    await once(server, 'listening');
    server.on('error', (error) =>
      this.options.logger?.warn({ event: 'egress.listen', outcome: 'error', error }, 'the egress port has failed'),
    );
    return server;
  }

  private greet(socket: Socket): void {
    let read = Buffer.alloc(0);
    const timer = setTimeout(() => socket.destroy(), GREETING_MS);
    this.sockets.add(socket);
    socket.on('close', () => {
      clearTimeout(timer);
      this.sockets.delete(socket);
    });
    socket.on('error', () => socket.destroy());
    const onData = (chunk: Buffer): void => {
      read = Buffer.concat([read, chunk]);
      const end = read.indexOf(NEW_LINE);
      if (end < 0 && read.length <= MAX_GREETING_BYTES) return;
      clearTimeout(timer);
      socket.pause();
      socket.removeListener('data', onData);
      const [, token = ''] = GREETING.exec(read.subarray(0, Math.max(end, 0)).toString('latin1')) ?? [];
      const sandbox = this.sandboxes.get(token);
      if (sandbox === undefined || end > MAX_GREETING_BYTES) {
        socket.destroy();
        return;
      }
      if (end + 1 < read.length) socket.unshift(read.subarray(end + 1));
      this.options.network.serve(socket, sandbox);
      socket.resume();
    };
    socket.on('data', onData);
  }
}

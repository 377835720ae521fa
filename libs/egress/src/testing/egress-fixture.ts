import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type Server as HttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { EgressProxy, type EgressProxyOptions } from '../egress-proxy.js';
import { parseEgressRule } from '../egress-rules.js';
import type { EgressEntry } from '../proxied-connection.js';

export const portOf = (server: Server): number => (server.address() as AddressInfo).port;

export async function listen<T extends Server>(server: T): Promise<T> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

export async function textOf(stream: AsyncIterable<unknown>): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return text;
}

export const connectTo = (host: string): string => `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;

interface SeenRequest {
  readonly url: string;
  readonly rawHeaders: string[];
  readonly body: string;
}

/** A site and an echo server, and the proxies that a test opens in front of them. */
export class EgressFixture {
  /** What the site was asked. */
  readonly seen: SeenRequest[] = [];
  private readonly cleanups: (() => void)[] = [];
  private servers: { readonly target: HttpServer; readonly echo: Server } | undefined;

  get target(): HttpServer {
    return this.started.target;
  }

  get echo(): Server {
    return this.started.echo;
  }

  async start(): Promise<void> {
    const target = await listen(
      createHttpServer((request, response) => {
        response.setHeader('set-cookie', ['a=1', 'b=2']);
        response.setHeader('x-hop', 'secret');
        response.setHeader('connection', 'x-hop');
        if (request.url === '/redirect') response.writeHead(302, { location: 'http://169.254.169.254/' });
        void this.record(request).then((text) => response.end(text));
      }),
    );
    const echo = await listen(createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)));
    this.servers = { target, echo };
    this.closeAfterTest(
      () => target.close(),
      () => echo.close(),
      () => target.closeAllConnections(),
    );
  }

  /** Closes in reverse order. */
  stop(): void {
    for (const cleanup of this.cleanups.splice(0).reverse()) cleanup();
  }

  closeAfterTest(...cleanups: readonly (() => void)[]): void {
    this.cleanups.push(...cleanups);
  }

  /** A request for the site, or for `host`, in the form that proxies get. */
  plain(path = '/', host = `site.test:${portOf(this.target)}`): string {
    return `GET http://${host}${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
  }

  /** A proxy for one client, whose names all lead to 127.0.0.1, and a way to open connections to it. */
  async proxyWith(options: Partial<EgressProxyOptions> = {}, policy: 'loopback only' | 'default' = 'loopback only') {
    const entries: EgressEntry[] = [];
    const resolved: string[] = [];
    const own = [`site.test:${portOf(this.target)}`, `echo.test:${portOf(this.echo)}`, '127.0.0.1', 'other.test'];
    const proxy = new EgressProxy({
      rules: own.map(parseEgressRule),
      resolve: (host) => {
        resolved.push(host);
        return Promise.resolve(['127.0.0.1']);
      },
      ...(policy === 'default' ? {} : { isAllowedAddress: (address: string) => address === '127.0.0.1' }),
      ...options,
    });
    const client = { id: 'box', onEnd: (entry: EgressEntry) => void entries.push(entry) };
    const front = await listen(createServer({ allowHalfOpen: true }, (socket) => proxy.serve(socket, client)));
    this.closeAfterTest(
      () => front.close(),
      () => proxy.close(),
    );
    const open = () => this.open(front);
    const entry = async (): Promise<EgressEntry | undefined> => {
      while (entries.length === 0) await new Promise((resolve) => setImmediate(resolve));
      return entries[0];
    };
    return { proxy, open, exchange: (text: string | Buffer) => exchange(open, text), entry, entries, resolved };
  }

  private async open(front: Server): Promise<Socket> {
    const socket = connect({ port: portOf(front), host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    this.closeAfterTest(() => socket.destroy());
    return socket;
  }

  private async record(request: IncomingMessage): Promise<string> {
    const body = await textOf(request);
    this.seen.push({ url: request.url ?? '', rawHeaders: request.rawHeaders, body });
    return `you sent ${body}`;
  }

  private get started(): { readonly target: HttpServer; readonly echo: Server } {
    if (this.servers === undefined) throw new Error('the fixture was not started');
    return this.servers;
  }
}

/** Sends `text` on a new connection. @returns everything that comes back until the end */
async function exchange(open: () => Promise<Socket>, text: string | Buffer): Promise<string> {
  const socket = await open();
  socket.write(text);
  const answer = await textOf(socket.setEncoding('latin1'));
  socket.destroy();
  return answer;
}

/** Starts a fixture before each test of the file and stops it afterwards. */
export function useEgress(receive: (fixture: EgressFixture) => void): void {
  let fixture: EgressFixture;

  beforeEach(async () => {
    fixture = new EgressFixture();
    await fixture.start();
    receive(fixture);
  });

  afterEach(() => fixture.stop());
}

import { connect, createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { type Direction, ProxyFlow, type ProxyRule } from './proxy-flow.js';

export interface Match {
  /**
   * Seen bytes of one connection since the rule was set: the new chunk, which is given once more by itself, after at most 4 KiB before
   * it. Default: any.
   */
  readonly bytes?: (seen: Buffer, chunk: Buffer) => boolean;
  /** The direction to search; default: the rule's own. */
  readonly in?: Direction;
}

export interface Hold {
  /** Resolves when the rule matches a connection. */
  readonly reached: Promise<void>;
  /** Ends the rule; bytes that a `hold` delayed are sent, bytes that a `drop` discarded stay lost. */
  release(): void;
}

/** A TCP proxy whose connections can be held, muted, slowed or cut from outside the processes that use it. */
export interface TestProxy {
  readonly port: number;
  /** Connections now open through it. */
  readonly connections: number;
  url(scheme: string): string;
  /** From the first match on, that connection's bytes in `direction` (the matching chunk included) wait for `release`. */
  hold(direction: Direction, match?: Match): Hold;
  /** Like `hold`, but the bytes are thrown away. */
  drop(direction: Direction, match?: Match): Hold;
  /** Each chunk in `direction` arrives `ms` later, in order; 0 ends it. */
  delay(direction: Direction, ms: number): void;
  /** Breaks all connections now open. */
  cut(): void;
  /** Refuses new connections until `accept`. */
  refuse(): void;
  accept(): void;
  stop(): Promise<void>;
}

export interface ProxyOptions {
  readonly target: number;
  /** The address that it listens on; default: loopback. */
  readonly host?: string;
}

/** Starts a proxy in front of a local port. */
export async function startProxy({ target: targetPort, host = '127.0.0.1' }: ProxyOptions): Promise<TestProxy> {
  const sockets = new Set<Socket>();
  const flows = { request: new Set<ProxyFlow>(), reply: new Set<ProxyFlow>() };
  const rules: ProxyRule[] = [];
  const delays: Record<Direction, number> = { request: 0, reply: 0 };
  let refusing = false;
  const server = createServer((client) => {
    if (refusing) {
      client.destroy();
      return;
    }
    const target = connect({ port: targetPort, host: '127.0.0.1' });
    const pair = {
      request: new ProxyFlow(client, target, { direction: 'request', rules, delays }),
      reply: new ProxyFlow(target, client, { direction: 'reply', rules, delays }),
    };
    pair.request.join(pair.reply);
    flows.request.add(pair.request);
    flows.reply.add(pair.reply);
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        flows.request.delete(pair.request);
        flows.reply.delete(pair.reply);
      });
    }
  });
  server.listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const { port } = address;
  const setRule = (effect: ProxyRule['effect'], direction: Direction, match: Match): Hold => {
    let reach: () => void = () => undefined;
    const reached = new Promise<void>((resolve) => (reach = resolve));
    const rule: ProxyRule = {
      effect,
      direction,
      lookIn: match.in ?? direction,
      matches: match.bytes ?? (() => true),
      reach,
    };
    rules.push(rule);
    return {
      reached,
      release: () => {
        const at = rules.indexOf(rule);
        if (at >= 0) rules.splice(at, 1);
        for (const flow of [...flows.request, ...flows.reply]) flow.release(rule);
      },
    };
  };
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port,
    get connections() {
      return flows.request.size;
    },
    url: (scheme) => `${scheme}://${host}:${port}`,
    hold: (direction, match = {}) => setRule('hold', direction, match),
    drop: (direction, match = {}) => setRule('drop', direction, match),
    delay: (direction, ms) => {
      delays[direction] = ms;
    },
    cut,
    refuse: () => {
      refusing = true;
    },
    accept: () => {
      refusing = false;
    },
    stop: async () => {
      cut();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A reverse proxy that serves a gateway below a path, which it removes from requests. */
export interface PrefixProxy {
  readonly origin: string;
  stop(): Promise<void>;
}

/** @param prefix such as `/tools/caribou`; the proxy names it in `X-Forwarded-Prefix` */
export async function startPrefixProxy(gatewayPort: number, prefix: string): Promise<PrefixProxy> {
  const server = createServer((incoming, answer) => {
    const { url = '/', method, headers } = incoming;
    if (url !== prefix && !url.startsWith(`${prefix}/`)) {
      answer.writeHead(404).end('outside of the prefix');
      return;
    }
    const path = url.slice(prefix.length) || '/';
    const outgoing = request(
      { host: '127.0.0.1', port: gatewayPort, method, path, headers: { ...headers, 'x-forwarded-prefix': prefix } },
      (reply) => {
        answer.writeHead(reply.statusCode ?? 502, reply.headers);
        reply.pipe(answer);
      },
    );
    outgoing.on('error', () => answer.destroy());
    incoming.pipe(outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

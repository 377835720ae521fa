import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type SiteRoute = (request: SiteRequest, response: ServerResponse) => void;

export interface SiteRequest {
  readonly method: string;
  /** Path with query. */
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A web server of a test on loopback. */
export interface Site {
  readonly port: number;
  /** The received requests, in order. */
  readonly seen: readonly SiteRequest[];
  stop(): void;
}

/** Starts a server whose routes go by path, without query; other paths are 404. */
export async function startSite(routes: Readonly<Record<string, SiteRoute>>): Promise<Site> {
  const seen: SiteRequest[] = [];
  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '', headers } = incoming;
    let body = '';
    for await (const piece of incoming) body += String(piece);
    const request = { method, url, headers, body };
    seen.push(request);
    const route = routes[url.split('?')[0] ?? ''];
    if (route === undefined) response.writeHead(404).end('no such page');
    else route(request, response);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A route that redirects; the location goes over the wire in UTF-8. */
export const redirectTo =
  (location: string, status = 302): SiteRoute =>
  (_, response) =>
    void response.writeHead(status, { location: Buffer.from(location).toString('latin1') }).end('elsewhere');

/** A route that answers in JSON. */
export const json =
  (value: unknown, status = 200): SiteRoute =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One thing a service needs before it can do its work. */
export interface HealthCheck {
  readonly name: string;
  /** Rejects with what is missing, in words. */
  readonly check: () => Promise<unknown>;
}

export interface HealthServerOptions {
  /** 0 takes any free port. */
  readonly port: number;
  readonly host?: string;
  readonly checks: readonly HealthCheck[];
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
}

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Longest wait for one check. */
const CHECK_MS = 3_000;

/**
 * `/health` (200 while the process lives), `/ready` (200, or 503 with the names of what is missing) and `/metrics` of a
 * service without an HTTP surface of its own; on loopback unless a host is given.
 */
export async function startHealthServer({
  port,
  host = '127.0.0.1',
  checks,
  metrics,
}: HealthServerOptions): Promise<HealthServer> {
  const server = createServer((request, response) => {
    answer(request.url ?? '/', response).catch((error: unknown) => {
      send(response, 500, { status: 'error', reason: error instanceof Error ? error.message : String(error) });
    });
  });
  const answer = async (url: string, response: ServerResponse): Promise<void> => {
    if (url === '/health') send(response, 200, { status: 'healthy' });
    else if (url === '/ready') {
      const missing = await missingOf(checks);
      const ready = Object.keys(missing).length === 0;
      send(response, ready ? 200 : 503, { status: ready ? 'ready' : 'not ready', missing });
    } else if (url === '/metrics') {
      response.writeHead(200, { 'content-type': metrics.contentType }).end(await metrics.text());
    } else send(response, 404, { detail: 'not found' });
  };
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** What is missing, by the name of its check; empty when all passed within their time. */
export async function missingOf(checks: readonly HealthCheck[]): Promise<Record<string, string>> {
  const results = await Promise.all(checks.map(async (one) => [one.name, await reasonOf(one)] as const));
  return Object.fromEntries(results.flatMap(([name, reason]) => (reason === undefined ? [] : [[name, reason]])));
}

async function reasonOf({ check }: HealthCheck): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer in ${CHECK_MS} ms`), CHECK_MS);
  });
  const result = check().then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  return Promise.race([result, late]).finally(() => clearTimeout(timer));
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

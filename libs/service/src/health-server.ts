import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A dependency that a service needs for its work. */
export interface HealthCheck {
  readonly name: string;
  /** Rejects with an error that says what is missing. */
  readonly check: () => Promise<unknown>;
  /** The service works without it, with restrictions: a failure is reported, and the service stays ready. */
  readonly optional?: boolean;
}

export interface HealthServerOptions {
  /** Address or host name to listen on. */
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly checks: readonly HealthCheck[];
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  /** Whether the process is stopping; it is then not ready, whatever the checks would say. */
  readonly isStopping: () => boolean;
}

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Timeout of one check. */
const CHECK_MS = 3_000;

/**
 * Serves `/health` (200 while the process runs), `/ready` (200, or 503 with the names of failed checks) and `/metrics` of
 * a service without an HTTP API, to everybody who reaches the host. `/health` has no logic of its own: a process whose event loop does not
 * turn gives no answer, which fails a probe as well as a 500 would.
 */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const { host, port, checks, metrics, isStopping } = options;
  const server = createServer((request, response) => {
    answer(request.url ?? '/', response).catch((error: unknown) => {
      send(response, 500, { status: 'error', reason: error instanceof Error ? error.message : String(error) });
    });
  });
  const findReadiness = async (isForTraffic: boolean): Promise<Readiness> => {
    if (isStopping()) return STOPPING;
    return isForTraffic ? READY : readinessOf(checks);
  };
  const answer = async (url: string, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    if (pathname === '/health') send(response, 200, { status: 'healthy' });
    else if (pathname === '/ready') {
      const readiness = await findReadiness(searchParams.get('for') === 'traffic');
      send(response, readiness.status === 'ready' ? 200 : 503, readiness);
    } else if (pathname === '/metrics') {
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

export interface Readiness {
  readonly status: 'ready' | 'not ready';
  /** Reasons by the name of the failed check. */
  readonly missing: Readonly<Record<string, string>>;
  /** The same for optional checks. */
  readonly degraded: Readonly<Record<string, string>>;
}

export const READY: Readiness = { status: 'ready', missing: {}, degraded: {} };

/** The answer of a process that is stopping; its checks are not made. */
export const STOPPING: Readiness = {
  status: 'not ready',
  missing: { stopping: 'this process is stopping' },
  degraded: {},
};

/** Runs all checks; one that does not answer in time fails. */
export async function readinessOf(checks: readonly HealthCheck[], withinMs = CHECK_MS): Promise<Readiness> {
  const results = await Promise.all(checks.map(async (one) => ({ ...one, reason: await reasonOf(one, withinMs) })));
  const collectFailures = (optional: boolean): Record<string, string> =>
    Object.fromEntries(
      results.flatMap(({ name, reason, optional: isOptional = false }) =>
        reason === undefined || isOptional !== optional ? [] : [[name, reason]],
      ),
    );
  const missing = collectFailures(false);
  return {
    status: Object.keys(missing).length === 0 ? 'ready' : 'not ready',
    missing,
    degraded: collectFailures(true),
  };
}

async function reasonOf({ check }: HealthCheck, withinMs: number): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer in ${withinMs} ms`), withinMs);
  });
  const result = check().then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  return Promise.race([result, timeout]).finally(() => clearTimeout(timer));
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { MODEL_ID, type ReportedTokens, sendJson } from './answer.js';
import { ModelApiError } from './api-error.js';
import { type CompletionContext, complete } from './completions.js';
import { Control, type RequestRecord } from './control.js';
import type { ChatRequest } from './request-check.js';

export interface DemoModelOptions {
  /** The port; 0, the default, is any free one. */
  port?: number;
  host?: string;
  /** Gives every tool call this id, as models do that name their calls `call_0` again and again. */
  constantCallId?: string;
  /** Refuses requests without `Authorization: Bearer <apiKey>` with 401. */
  apiKey?: string;
  /** Part of the input tokens that is reported as read from a cache, from 0 (the default) to 1. */
  cachedShare?: number;
  /** Receives the request and the reported tokens of each answer that was sent to its end. */
  onAnswered?: (request: ChatRequest, tokens: ReportedTokens) => void;
}

/** A running demo model. `url` has no path; clients of the OpenAI kind take `baseUrl`, which ends in `/v1`. */
export interface DemoModel {
  url: string;
  baseUrl: string;
  port: number;
  requests(contains?: string): RequestRecord[];
  listHolds(): { name: string; request_id: number }[];
  release(name: string): number;
  reset(): void;
  close(): Promise<void>;
}

/** Starts the scripted, OpenAI-compatible demo model; resolves when it listens. */
export async function startDemoModel(options: DemoModelOptions = {}): Promise<DemoModel> {
  const control = new Control();
  const prefix = randomBytes(6).toString('hex');
  let count = 0;
  const context: CompletionContext = {
    control,
    apiKey: options.apiKey,
    constantCallId: options.constantCallId,
    cachedShare: options.cachedShare ?? 0,
    onAnswered: options.onAnswered,
    nextResponseId: () => `${prefix}${(count++).toString(36).padStart(4, '0')}`,
  };
  const server = createServer((req, res) => {
    req.socket.setNoDelay(true);
    void serve(req, res, context);
  });
  const host = options.host ?? '127.0.0.1';
  const port = await listen(server, options.port ?? 0, host);
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return {
    url,
    baseUrl: `${url}/v1`,
    port,
    requests: (contains) => control.requests(contains),
    listHolds: () => control.listHolds(),
    release: (name) => control.release(name),
    reset: () => control.reset(),
    close: () => stop(server, control),
  };
}

/** Listens on an address; resolves with the port. */
export async function listen(server: Server, port: number, host: string): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the demo model has no TCP address');
  return address.port;
}

async function stop(server: Server, control: Control): Promise<void> {
  const closed = new Promise<void>((resolve, reject) => server.close((error) => (error ? reject(error) : resolve())));
  control.reset();
  server.closeAllConnections();
  await closed;
}

/** Handles a request; every error becomes an answer in OpenAI's shape. */
async function serve(req: IncomingMessage, res: ServerResponse, context: CompletionContext): Promise<void> {
  try {
    await route(req, res, context);
  } catch (cause) {
    const error = cause instanceof ModelApiError ? cause : new ModelApiError(500, `demo model: ${String(cause)}`);
    if (res.headersSent) res.destroy();
    else sendJson(res, error.status, error.body());
  }
}

async function route(req: IncomingMessage, res: ServerResponse, context: CompletionContext): Promise<void> {
  const { pathname, searchParams } = new URL(req.url ?? '/', 'http://demo.invalid');
  const { control } = context;
  const where = `${req.method} ${pathname}`;
  if (where === 'POST /v1/chat/completions') return await complete(req, res, context);
  if (where === 'GET /v1/models') return sendJson(res, 200, { object: 'list', data: [modelCard()] });
  if (where === 'GET /health') return sendJson(res, 200, { status: 'ok', model: MODEL_ID, scripted: true });
  if (where === 'GET /control/requests')
    return sendJson(res, 200, control.requests(searchParams.get('contains') ?? ''));
  if (where === 'GET /control/holding') return sendJson(res, 200, control.listHolds());
  if (where === 'POST /control/reset') {
    control.reset();
    return sendJson(res, 200, { ok: true });
  }
  const release = /^POST \/control\/release\/([^/]+)$/.exec(where)?.[1];
  if (release !== undefined) return sendJson(res, 200, { released: control.release(decodeURIComponent(release)) });
  throw new ModelApiError(404, `Invalid URL (${where})`, { code: 'unknown_url' });
}

function modelCard(): object {
  return { id: MODEL_ID, object: 'model', created: 0, owned_by: 'caribou', description: 'Scripted demo, not an AI.' };
}

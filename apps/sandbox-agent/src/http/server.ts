import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  AGENT_ROUTES,
  AgentKill,
  AgentLease,
  type AppError,
  InvalidRequestError,
  NotFoundError,
  TooLargeError,
  toWireError,
  UnauthenticatedError,
} from '@caribou/contracts';
import type { z } from 'zod';

/** Bytes of a JSON body. */
const MAX_JSON_BYTES = 4_096;
/** Bytes of the head of a request. */
const MAX_HEADER_BYTES = 8_192;
const HEADERS_MS = 10_000;
const MAX_CONNECTIONS = 96;
/** Of these, connections that come from the sandbox itself: commands can open some too, and must not keep the manager out. */
const MAX_OWN_CONNECTIONS = 24;
const IDLE_MS = 120_000;

export interface AgentHandlers {
  readonly health: () => unknown;
  readonly lease: (leaseMs: number) => unknown;
  readonly kill: (id: string | undefined) => unknown;
  readonly exec: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  readonly pull: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  readonly toAppError: (error: unknown) => AppError;
  /** Called for each request with the token. */
  readonly onRequest: () => void;
}

export interface AgentServerOptions {
  readonly host: string;
  readonly port: number;
  /** SHA-256 of the token, in hexadecimal. */
  readonly tokenSha256: string;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Listens for requests of managers. @throws a system error when it cannot */
export function startServer(options: AgentServerOptions, handlers: AgentHandlers): Promise<Server> {
  const expected = Buffer.from(options.tokenSha256, 'hex');
  const routes = routesOf(handlers);
  const server = createServer(
    { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: HEADERS_MS, requestTimeout: 0, keepAliveTimeout: IDLE_MS },
    (request, response) => {
      void answer(request, response, { routes, expected, handlers });
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  limitOwnConnections(server);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => resolve(server));
  });
}

function limitOwnConnections(server: Server): void {
  const own = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    if (socket.remoteAddress !== socket.localAddress) return;
    if (own.size >= MAX_OWN_CONNECTIONS) {
      socket.destroy();
      return;
    }
    own.add(socket);
    socket.once('close', () => own.delete(socket));
  });
}

function routesOf({ health, lease, kill, exec, pull }: AgentHandlers): ReadonlyMap<string, Handler> {
  const json =
    <T>(schema: z.ZodType<T>, act: (body: T) => unknown): Handler =>
    async (request, response) =>
      send(response, 200, act(await readJson(request, schema)));
  return new Map<string, Handler>([
    [`GET ${AGENT_ROUTES.health}`, (_request, response) => Promise.resolve(send(response, 200, health()))],
    [`POST ${AGENT_ROUTES.lease}`, json(AgentLease, ({ leaseMs }) => lease(leaseMs))],
    [`POST ${AGENT_ROUTES.kill}`, json(AgentKill, ({ id }) => kill(id))],
    [`POST ${AGENT_ROUTES.exec}`, exec],
    [`POST ${AGENT_ROUTES.pull}`, pull],
  ]);
}

interface AnswerOptions {
  readonly routes: ReadonlyMap<string, Handler>;
  readonly expected: Buffer;
  readonly handlers: AgentHandlers;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { routes, expected, handlers }: AnswerOptions,
): Promise<void> {
  // A connection that breaks shows where it is read or written.
  request.on('error', () => undefined);
  response.on('error', () => undefined);
  try {
    const route = `${request.method ?? ''} ${request.url ?? ''}`;
    if (route === `GET ${AGENT_ROUTES.ready}`) {
      response.writeHead(204).end();
      return;
    }
    requireToken(request, expected);
    handlers.onRequest();
    const handler = routes.get(route);
    if (handler === undefined) throw new NotFoundError('the sandbox agent has no such route');
    await handler(request, response);
  } catch (error) {
    refuse(request, response, handlers.toAppError(error));
  }
}

/** Compares in a time that says nothing about the token. */
function requireToken(request: IncomingMessage, expected: Buffer): void {
  const [scheme, token = ''] = (request.headers.authorization ?? '').split(' ');
  const given = createHash('sha256').update(token).digest();
  if (scheme === 'Bearer' && timingSafeEqual(given, expected)) return;
  throw new UnauthenticatedError('the token of the sandbox agent is missing or wrong');
}

/** A refusal ends its connection: the rest of the body is not read. */
function refuse(request: IncomingMessage, response: ServerResponse, error: AppError): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.setHeader('connection', 'close');
  send(response, error.status, toWireError(error));
  request.resume();
  response.once('finish', () => setTimeout(() => request.destroy(), 1_000).unref());
}

function send(response: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

async function readJson<T>(request: IncomingMessage, schema: z.ZodType<T>): Promise<T> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const late = setTimeout(() => request.destroy(), HEADERS_MS);
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.byteLength;
      if (bytes > MAX_JSON_BYTES)
        throw new TooLargeError(`the body may have ${MAX_JSON_BYTES} bytes`, {
          details: { limitBytes: MAX_JSON_BYTES },
        });
      chunks.push(chunk);
    }
  } finally {
    clearTimeout(late);
  }
  const parsed = schema.safeParse(parseJson(Buffer.concat(chunks).toString('utf8')));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new InvalidRequestError(`${issue?.path.join('.') ?? 'body'}: ${issue?.message ?? 'invalid'}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InvalidRequestError('the body is not JSON', { cause: error });
  }
}

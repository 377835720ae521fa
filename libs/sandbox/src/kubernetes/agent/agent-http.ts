import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { fromWireError, UnavailableError, WireError } from '@caribou/contracts';
import type { AgentEndpoint } from './agent-client.js';

/** The agent of a pod accepts a connection within this time. */
const CONNECT_MS = 5_000;
/** Bytes of a refusal. */
const MAX_REFUSAL_BYTES = 64 * 1024;
const MAX_SOCKETS = 4;
const IDLE_MS = 60_000;

export interface AgentRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: { readonly type: string; readonly bytes: Uint8Array | AsyncIterable<Uint8Array> };
  /** Time from the connection to the head of the reply, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** HTTP to one agent, over a few connections, which stay open between requests. */
export class AgentHttp {
  private readonly connections = new Agent({
    keepAlive: true,
    maxSockets: MAX_SOCKETS,
    timeout: IDLE_MS,
    noDelay: true,
  });

  constructor(private readonly endpoint: AgentEndpoint) {}

  /**
   * The reply, as soon as its head is here.
   *
   * @throws {AppError} the agent's refusal
   * @throws {UnavailableError} when the agent does not answer
   */
  async open(options: AgentRequest): Promise<IncomingMessage> {
    const reply = await this.send(options);
    if (reply.statusCode === 200) return reply;
    throw await refusalOf(reply);
  }

  /** The JSON of a reply. @throws as `open` does */
  async json(options: AgentRequest): Promise<unknown> {
    const reply = await this.open(options);
    return parseJson(await textOf(reply));
  }

  close(): void {
    this.connections.destroy();
  }

  private send({ method, path, body, timeoutMs, signal }: AgentRequest): Promise<IncomingMessage> {
    const { host, port, token } = this.endpoint;
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': body.type }),
      ...(body?.bytes instanceof Uint8Array ? { 'content-length': body.bytes.byteLength } : {}),
    };
    const asked = request({ host, port, method, path, headers, agent: this.connections, signal });
    const reply = replyOf(asked, timeoutMs);
    if (body === undefined || body.bytes instanceof Uint8Array) asked.end(body?.bytes);
    else sendStream(asked, body.bytes);
    return reply;
  }
}

function replyOf(asked: ClientRequest, timeoutMs: number): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let hasConnected = false;
    let late = setTimeout(() => asked.destroy(new Error('no connection in time')), CONNECT_MS);
    const onConnected = (): void => {
      hasConnected = true;
      clearTimeout(late);
      late = setTimeout(() => asked.destroy(new Error('no answer in time')), timeoutMs);
    };
    asked.once('socket', (socket) => {
      if (socket.connecting) socket.once('connect', onConnected);
      else onConnected();
    });
    asked.once('error', (error) => {
      clearTimeout(late);
      reject(toUnavailable(error, hasConnected ? {} : { neverConnected: true }));
    });
    asked.once('response', (reply) => {
      clearTimeout(late);
      // What goes wrong from here on shows where the reply is read.
      asked.on('error', () => undefined);
      resolve(reply);
    });
  });
}

function sendStream(asked: ClientRequest, bytes: AsyncIterable<Uint8Array>): void {
  const source = Readable.from(bytes, { objectMode: false, highWaterMark: 256 * 1024 });
  source.once('error', (error) => asked.destroy(error));
  asked.once('close', () => source.destroy());
  source.pipe(asked);
}

/** The failure of a connection, for the caller. */
export function toUnavailable(error: unknown, details: Readonly<Record<string, unknown>> = {}): UnavailableError {
  if (error instanceof UnavailableError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return new UnavailableError(`the agent of the sandbox does not answer: ${text}`, {
    cause: error,
    details: { dependency: 'kubernetes', ...details },
  });
}

async function refusalOf(reply: IncomingMessage): Promise<Error> {
  const parsed = WireError.safeParse(parseJson(await textOf(reply)));
  if (parsed.success && reply.statusCode !== 401) return fromWireError(parsed.data);
  return toUnavailable(new Error(`it has answered with status ${reply.statusCode ?? 0}`), { wasRefused: true });
}

async function textOf(reply: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const late = setTimeout(() => reply.destroy(), CONNECT_MS);
  try {
    for await (const chunk of reply as AsyncIterable<Buffer>) {
      bytes += chunk.byteLength;
      if (bytes > MAX_REFUSAL_BYTES) throw new Error('its answer is too long');
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  } catch (error) {
    throw toUnavailable(error);
  } finally {
    clearTimeout(late);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

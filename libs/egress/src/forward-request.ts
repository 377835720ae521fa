import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import type { ProxiedConnection } from './proxied-connection.js';

/** Headers that concern one connection (RFC 9110, 7.6.1), or this proxy alone. */
const HOP_BY_HOP = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'expect', 'host'],
]);

/**
 * The headers that are forwarded: not those of this connection, nor those that `Connection` names. `Connection` cannot
 * remove the length: a body without a frame would be read as a further message.
 */
function endToEnd(message: IncomingMessage): Record<string, string[]> {
  const named = (message.headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  const forwarded: Record<string, string[]> = {};
  for (const [name, values] of Object.entries(message.headersDistinct)) {
    const isNamed = named.includes(name) && name !== 'content-length';
    if (values !== undefined && !HOP_BY_HOP.has(name) && !isNamed) forwarded[name] = values;
  }
  return forwarded;
}

export interface PlainRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The Host header: the one in the request may name another. */
  readonly host: string;
  readonly path: string;
}

/**
 * Sends a request over an open connection and its answer back; redirects are the client's to follow.
 *
 * @throws whatever either side's connection failed with; the answer may have begun
 */
export async function forwardRequest(
  { request, response, host, path }: PlainRequest,
  connection: ProxiedConnection,
  upstream: Socket,
): Promise<void> {
  connection.attach(upstream);
  const outgoing = httpRequest({
    createConnection: () => upstream,
    method: request.method ?? 'GET',
    path,
    headers: {
      ...endToEnd(request),
      host,
      connection: 'close',
      ...(request.headers['transfer-encoding'] === undefined ? {} : { 'transfer-encoding': 'chunked' }),
    },
  });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve);
    // The listener stays for the connection's whole life: the answer's own stream reports a break after this.
    outgoing.on('error', reject);
  });
  request.on('data', (chunk: Buffer) => connection.spend(chunk.length));
  // Not by pipeline: an answer that comes before the end of the body must not cost the client its connection.
  request.pipe(outgoing);
  const answer = await answered;
  response.writeHead(answer.statusCode ?? 502, answer.statusMessage, { ...endToEnd(answer), connection: 'close' });
  answer.on('data', (chunk: Buffer) => connection.spend(chunk.length));
  await pipeline(answer, response);
  upstream.destroySoon();
}

import { Agent as HttpAgent, type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { TLSSocket } from 'node:tls';
import { urlToHttpOptions } from 'node:url';
import { isRecord } from '@caribou/contracts';

/**
 * Requests over node:http. Unlike `fetch` they have a timeout for the connection alone (local servers may take minutes to their
 * first byte, because they load the model first), a limit for error bodies, and bodies as Node streams, which need a third less
 * CPU per chunk than web streams.
 */
export interface Transport {
  /** Returns a function that posts bodies to a URL with these headers, to which it adds those of host and length. */
  openTarget(target: RequestTarget): Post;
}

export interface RequestTarget {
  readonly url: string;
  readonly headers: Headers;
}

/**
 * Posts a body and resolves with the body of a 2xx answer, which flows only once it is read.
 *
 * @param signal closes the connection, also while the answer is read
 * @throws {Refusal} for another status or for JSON, {ConnectTimeout}, and errors of a socket
 */
export type Post = (body: Buffer, signal: AbortSignal) => Promise<IncomingMessage>;

/** The connection was not established in time. */
export class ConnectTimeout extends Error {}

/**
 * The endpoint answered with a status other than 2xx, or with JSON in place of a stream. The body may contain the key and must be redacted
 * before use.
 */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly headers: IncomingMessage['headers'],
    readonly body: string,
  ) {
    super(`HTTP ${status}`);
  }
}

const MAX_ERROR_BODY_BYTES = 64 * 1024;
/** Idle connections are closed after this time, because a NAT may drop them silently and requests would then hang. */
const IDLE_MS = 15_000;

export function createTransport({ connectMs }: { readonly connectMs: number }): Transport {
  const agents = {
    http: new HttpAgent({ keepAlive: true, timeout: IDLE_MS }),
    https: new HttpsAgent({ keepAlive: true, timeout: IDLE_MS }),
  };
  return {
    openTarget: (target) => {
      const open = requestOpener(target, agents);
      return async (body, signal) => {
        signal.throwIfAborted();
        const message = await exchange(() => open(body, signal), connectMs);
        const status = message.statusCode ?? 0;
        if (status < 200 || status > 299 || isJson(message)) {
          throw new Refusal(status, message.headers, await readErrorBody(message));
        }
        return message;
      };
    },
  };
}

/** Returns a function that sends requests; what is the same for all of them is made once. */
function requestOpener(
  { url, headers }: RequestTarget,
  agents: { readonly http: HttpAgent; readonly https: HttpsAgent },
): (body: Buffer, signal: AbortSignal) => ClientRequest {
  const target = new URL(url);
  const isTls = target.protocol === 'https:';
  const { auth, ...options } = urlToHttpOptions(target);
  const all = new Headers(headers);
  all.delete('content-length');
  if (!all.has('host')) all.set('host', target.host);
  if (typeof auth === 'string' && !all.has('authorization'))
    all.set('authorization', `Basic ${Buffer.from(auth).toString('base64')}`);
  const fixed = [...all].flat();
  return (body, signal) => {
    const request = (isTls ? httpsRequest : httpRequest)({
      ...options,
      method: 'POST',
      agent: isTls ? agents.https : agents.http,
      headers: [...fixed, 'content-length', String(body.length)],
    });
    // The `signal` option would destroy with an error, which a socket that is being returned to the agent emits without
    // a listener when the abort occurs within a data event.
    signal.addEventListener('abort', () => request.destroy(), { once: true });
    request.end(body);
    return request;
  };
}

const isJson = ({ headers }: IncomingMessage): boolean =>
  headers['content-type']?.startsWith('application/json') === true;

/** Sends the request and waits for the headers; repeats it once when a reused connection was closed by the server. */
async function exchange(open: () => ClientRequest, connectMs: number): Promise<IncomingMessage> {
  const request = open();
  try {
    return await headersOf(request, connectMs);
  } catch (error) {
    if (!request.reusedSocket || !isReset(error)) throw error;
    return headersOf(open(), connectMs);
  }
}

const isReset = (error: unknown): boolean => isRecord(error) && error['code'] === 'ECONNRESET';

function headersOf(request: ClientRequest, connectMs: number): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => request.destroy(new ConnectTimeout(`no connection within ${connectMs} ms`)),
      connectMs,
    );
    const onConnected = (): void => {
      clearTimeout(timer);
    };
    request.once('socket', (socket) => {
      if (request.reusedSocket) onConnected();
      else socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', onConnected);
    });
    request.once('response', resolve);
    request.on('error', (error) => {
      onConnected();
      reject(error);
    });
  });
}

/** Reads at most 64 KiB of an error body, and returns what it has when the connection breaks. */
async function readErrorBody(message: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  await new Promise<void>((resolve) => {
    message.on('data', (part: Buffer) => {
      parts.push(part);
      bytes += part.length;
      if (bytes >= MAX_ERROR_BODY_BYTES) message.destroy();
    });
    message.once('error', () => {
      resolve();
    });
    message.once('close', resolve);
  });
  return Buffer.concat(parts).toString('utf8', 0, MAX_ERROR_BODY_BYTES);
}

import { Agent as HttpAgent, type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { TLSSocket } from 'node:tls';
import { isRecord } from '@caribou/contracts';

/**
 * A `fetch` for the SDK over node:http. Unlike the global one it has a timeout for the connection alone (local servers may
 * take minutes to their first byte, because they load the model first), a limit for error bodies, and bodies as Node
 * streams, which need a third less CPU per chunk than web streams.
 */
export interface Transport {
  readonly fetch: (url: string | URL | Request, init?: RequestInit) => Promise<Response>;
  /** Returns the body of a response of `fetch`, which flows only once it is read. */
  bodyOf(response: Response): IncomingMessage | undefined;
}

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
    'http:': new HttpAgent({ keepAlive: true, timeout: IDLE_MS }),
    'https:': new HttpsAgent({ keepAlive: true, timeout: IDLE_MS }),
  };
  const bodies = new WeakMap<Response, IncomingMessage>();

  const sendRequest = (url: URL, init: RequestInit): ClientRequest => {
    const body = bytesOf(init.body);
    const headers = init.headers instanceof Headers ? init.headers : new Headers(init.headers);
    const options = {
      method: init.method ?? 'POST',
      headers: { ...Object.fromEntries(headers), 'content-length': body.length },
    };
    const request =
      url.protocol === 'https:'
        ? httpsRequest(url, { ...options, agent: agents['https:'] })
        : httpRequest(url, { ...options, agent: agents['http:'] });
    // The `signal` option would destroy with an error, which a socket that is being returned to the agent emits without
    // a listener when the abort occurs within a data event.
    init.signal?.addEventListener('abort', () => request.destroy(), { once: true });
    request.end(body);
    return request;
  };

  return {
    bodyOf: (response) => bodies.get(response),
    fetch: async (input, init = {}) => {
      init.signal?.throwIfAborted();
      const url = new URL(input instanceof Request ? input.url : input);
      const message = await exchange(() => sendRequest(url, init), connectMs);
      const status = message.statusCode ?? 0;
      if (status < 200 || status > 299 || isJson(message)) {
        throw new Refusal(status, message.headers, await readErrorBody(message));
      }
      const response = new Response(null, { status: 200 });
      bodies.set(response, message);
      return response;
    },
  };
}

const isJson = ({ headers }: IncomingMessage): boolean =>
  headers['content-type']?.startsWith('application/json') === true;

/** Bodies are bytes or text; the SDK is given no others. */
const bytesOf = (body: RequestInit['body']): Uint8Array =>
  body instanceof Uint8Array ? body : Buffer.from(typeof body === 'string' ? body : '');

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

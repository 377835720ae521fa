import { Agent as HttpAgent, type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { TLSSocket } from 'node:tls';
import { isRecord } from '@caribou/contracts';

/**
 * Sends requests over node:http. Unlike the global `fetch` it has a timeout for the connection alone (local servers may
 * take minutes to their first byte, because they load the model first), a limit for error bodies, and bodies as Node
 * streams, which need a third less CPU per chunk than web streams.
 */
export interface Transport {
  /**
   * Posts JSON and returns the response once its headers are there; its body flows only once it is read. The signal closes
   * the connection.
   *
   * @throws {Refusal} for a status other than 2xx
   * @throws {ConnectTimeout} when the connection was not established in time
   */
  post(json: string, signal: AbortSignal): Promise<IncomingMessage>;
}

/** Where a transport sends its requests. */
export interface Endpoint {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly connectMs: number;
}

/** The connection was not established in time. */
export class ConnectTimeout extends Error {}

/** The endpoint answered with a status other than 2xx. The body may contain the key and must be redacted before use. */
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

export function createTransport({ url, headers, connectMs }: Endpoint): Transport {
  const keepAlive = { keepAlive: true, timeout: IDLE_MS };
  const open =
    url.protocol === 'https:'
      ? { request: httpsRequest, agent: new HttpsAgent(keepAlive) }
      : { request: httpRequest, agent: new HttpAgent(keepAlive) };

  const sendRequest = (body: Buffer, signal: AbortSignal): ClientRequest => {
    const request = open.request(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': body.length },
      agent: open.agent,
    });
    // The `signal` option would destroy with an error, which a socket that is being returned to the agent emits without
    // a listener when the abort occurs within a data event.
    signal.addEventListener('abort', () => request.destroy(), { once: true });
    request.end(body);
    return request;
  };

  return {
    post: async (json, signal) => {
      signal.throwIfAborted();
      const body = Buffer.from(json);
      const message = await exchange(() => sendRequest(body, signal), connectMs);
      const status = message.statusCode ?? 0;
      if (status >= 200 && status <= 299) return message;
      throw new Refusal(status, message.headers, await readErrorBody(message));
    },
  };
}

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

import { Agent as HttpAgent, type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { TLSSocket } from 'node:tls';
import { errnoOf } from '@caribou/core';
import type { Pieces } from '../common/checked-body.js';
import { StoreFailure } from '../common/store-failure.js';
import { connectionFailure } from './connection-failure.js';

export interface Outgoing {
  readonly method: string;
  readonly url: URL;
  /** With `content-length` when there is a body. */
  readonly headers: Readonly<Record<string, string | number>>;
  /** Opens the body; its errors are thrown as they are. */
  readonly open: (() => Pieces) | undefined;
}

export interface ExchangeLimits {
  readonly connectTimeoutMs: number;
  readonly silenceTimeoutMs: number;
}

/** Sends a request and resolves with the answer's head; the body of an answer flows only when it is read. */
export type Exchange = (outgoing: Outgoing, signal: AbortSignal) => Promise<IncomingMessage>;

/** A connection that was kept open was closed by the store before the request reached it. */
export class StaleConnection extends StoreFailure {
  constructor(cause: unknown) {
    super('unreachable', 'it closed a connection that was kept open', { cause, isRepeated: true });
  }
}

/** Idle connections are closed after this time, because a NAT may drop them silently and requests would then hang. */
const IDLE_MS = 15_000;
/** What is sent at once, so that progress is seen within a large piece. */
const SLICE_BYTES = 256 * 1024;

/** Exchanges over connections of their own that are kept open. */
export function createExchange(limits: ExchangeLimits): Exchange {
  const agents = {
    http: new HttpAgent({ keepAlive: true, timeout: IDLE_MS }),
    https: new HttpsAgent({ keepAlive: true, timeout: IDLE_MS }),
  };
  return (outgoing, signal) => {
    signal.throwIfAborted();
    const { method, url, headers } = outgoing;
    const request =
      url.protocol === 'https:'
        ? httpsRequest(url, { method, headers, agent: agents.https })
        : httpRequest(url, { method, headers, agent: agents.http });
    return new RunningExchange(request, limits).run(outgoing.open, signal);
  };
}

/**
 * One request until the head of its answer.
 *
 * E1 It settles once; whatever settles it but an answer destroys the connection.
 * E2 A store that answers before it has the whole body is not sent the rest.
 * E3 The store's silence is measured only while it has to take or send bytes, so a slow body is the caller's affair.
 */
class RunningExchange {
  readonly #request: ClientRequest;
  readonly #limits: ExchangeLimits;
  #timer: NodeJS.Timeout | undefined;
  #isSettled = false;

  constructor(request: ClientRequest, limits: ExchangeLimits) {
    this.#request = request;
    this.#limits = limits;
  }

  run(open: Outgoing['open'], signal: AbortSignal): Promise<IncomingMessage> {
    const request = this.#request;
    return new Promise<IncomingMessage>((resolve, reject) => {
      const fail = (error: unknown): void => {
        if (!this.#settle()) return;
        request.destroy();
        reject(error);
      };
      const onAbort = (): void => {
        fail(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      request.once('close', () => {
        signal.removeEventListener('abort', onAbort);
        fail(new StoreFailure('unreachable', 'the connection was closed without an answer', { isRepeated: true }));
      });
      // Stays for errors after the end, which would otherwise end the process.
      request.on('error', (error) => {
        fail(this.#isStale(error) ? new StaleConnection(error) : connectionFailure(error));
      });
      request.once('response', (message) => {
        if (!this.#settle()) return;
        signal.removeEventListener('abort', onAbort);
        if (!request.writableEnded) message.once('close', () => request.destroy());
        resolve(message);
      });
      this.#watchConnection(fail);
      this.#send(open, fail).catch(fail);
    });
  }

  #settle(): boolean {
    clearTimeout(this.#timer);
    const isFirst = !this.#isSettled;
    this.#isSettled = true;
    return isFirst;
  }

  #isStale(error: unknown): boolean {
    return this.#request.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(errnoOf(error) ?? '');
  }

  #watchConnection(fail: (error: Error) => void): void {
    const { connectTimeoutMs } = this.#limits;
    const timer = setTimeout(() => {
      fail(new StoreFailure('timeout', `no connection within ${connectTimeoutMs} ms`, { isRepeated: true }));
    }, connectTimeoutMs);
    const stop = (): void => {
      clearTimeout(timer);
    };
    this.#request.once('close', stop);
    this.#request.once('socket', (socket) => {
      if (this.#request.reusedSocket) stop();
      else socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', stop);
    });
  }

  async #send(open: Outgoing['open'], fail: (error: Error) => void): Promise<void> {
    for await (const piece of open?.() ?? []) {
      for (let at = 0; at < piece.byteLength && !this.#isSettled; at += SLICE_BYTES)
        if (!this.#request.write(piece.subarray(at, at + SLICE_BYTES))) await this.#drained(fail);
      if (this.#isSettled) return;
    }
    if (this.#isSettled) return;
    this.#request.end();
    this.#awaitStore(fail);
  }

  /** Resolves when the store takes more, or the exchange is over. */
  #drained(fail: (error: Error) => void): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(this.#timer);
        for (const event of ['drain', 'response', 'close']) this.#request.removeListener(event, done);
        resolve();
      };
      for (const event of ['drain', 'response', 'close']) this.#request.once(event, done);
      this.#awaitStore(fail);
    });
  }

  #awaitStore(fail: (error: Error) => void): void {
    const { silenceTimeoutMs } = this.#limits;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      fail(new StoreFailure('timeout', `the store was silent for ${silenceTimeoutMs} ms`, { isRepeated: true }));
    }, silenceTimeoutMs);
  }
}

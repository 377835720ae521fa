import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type Clock, Limiter, type Logger } from '@caribou/core';
import type { Pieces } from '../common/checked-body.js';
import { withDeadline } from '../common/deadline.js';
import { StoreFailure } from '../common/store-failure.js';
import { parseRefusal, refusalFailure, type Refusal } from './answer-failure.js';
import { createExchange, type Exchange, StaleConnection } from './exchange.js';
import { readText } from './read-answer.js';
import { type Query, requestUrl } from './request-url.js';
import type { S3StoreConfig } from '@caribou/config';
import { EMPTY_SHA256, signRequest } from './sign-request.js';
import { type RetryPolicy, withRetries } from './with-retries.js';

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** With the prefix; absent: the bucket. */
  readonly fullKey?: string;
  readonly query?: Query;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: S3Body;
}

export interface S3Body {
  readonly size: number;
  readonly sha256: string;
  /** Called for each attempt. */
  readonly open: () => Pieces;
}

export interface CallOptions<T> {
  readonly signal: AbortSignal | undefined;
  /** Bytes to move, which take time beyond that of an operation. */
  readonly bytes?: number;
  /** Reads an answer of 2xx; when it throws a failure that may be repeated, the request is. */
  readonly read: (message: IncomingMessage, signal: AbortSignal) => Promise<T> | T;
  /** A refusal that is a result; undefined for others. Default: none is. */
  readonly accept?: (refusal: Refusal) => T | undefined;
}

export interface TextOptions<T> extends Omit<CallOptions<T>, 'read'> {
  readonly maxBytes: number;
  readonly parse: (text: string, headers: IncomingHttpHeaders) => T;
}

export interface S3ClientPorts {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: () => number;
}

const MAX_ERROR_BYTES = 64 * 1024;
/** Requests that may wait for others to end. */
const MAX_WAITING = 10_000;

/** Signs and sends requests to one bucket, repeats them, and makes failures of refusals. */
export class S3Client {
  readonly #settings: S3StoreConfig;
  readonly #ports: S3ClientPorts;
  readonly #exchange: Exchange;
  readonly #limiter: Limiter;

  constructor(settings: S3StoreConfig, ports: S3ClientPorts) {
    this.#settings = settings;
    this.#ports = ports;
    this.#exchange = createExchange(settings);
    this.#limiter = new Limiter({
      maxRunning: settings.maxRequests,
      maxWaiting: MAX_WAITING,
      errorWhenFull: () => new StoreFailure('overloaded', `more than ${MAX_WAITING} requests wait in this process`),
    });
  }

  /**
   * Sends a request until it succeeds, is refused for good, has failed too often or is out of time.
   *
   * @throws {UnavailableError} with what to do about it
   * @throws errors of the body, and the reason of the caller's signal
   */
  async call<T>(request: S3Request, options: CallOptions<T>): Promise<T> {
    const { clock } = this.#ports;
    const startedMs = clock.monotonicMs();
    let last: StoreFailure | undefined;
    const deadline = { ...options, timeoutMs: this.#settings.timeoutMs, lastFailure: () => last };
    const onRetry: RetryPolicy['onRetry'] = (failure, retry) => {
      last = failure;
      this.#logRetry(failure, retry);
    };
    try {
      return await withDeadline(deadline, (signal) =>
        withRetries({ ...this.#ports, maxAttempts: this.#settings.maxAttempts, onRetry }, signal, () =>
          this.#limiter.run(() => this.#attempt(request, options, signal)),
        ),
      );
    } catch (error) {
      if (error instanceof StoreFailure) this.#logFailure(error, request.method, clock.monotonicMs() - startedMs);
      throw error;
    }
  }

  /** Sends a request whose answer is text of at most `maxBytes`, which `parse` reads. @throws as `call`, and what `parse` throws */
  text<T>(request: S3Request, { maxBytes, parse, ...options }: TextOptions<T>): Promise<T> {
    const read = async (message: IncomingMessage, signal: AbortSignal): Promise<T> =>
      parse(await readText(message, { ...this.#settings, signal }, maxBytes), message.headers);
    return this.call(request, { ...options, read });
  }

  #logFailure(error: StoreFailure, method: string, ms: number): void {
    const { reason, details } = error;
    const fields = { method, reason, status: details['status'], durationMs: Math.round(ms), error };
    this.#ports.logger.warn({ event: 'objects.failed', ...fields }, error.message);
  }

  #logRetry({ reason, message }: StoreFailure, retry: { readonly attempt: number; readonly delayMs: number }): void {
    const { maxAttempts } = this.#settings;
    this.#ports.logger.debug({ event: 'objects.retry', reason, maxAttempts, ...retry }, message);
  }

  async #attempt<T>(request: S3Request, options: CallOptions<T>, signal: AbortSignal): Promise<T> {
    const message = await this.#send(request, signal).catch((error: unknown) => {
      if (error instanceof StaleConnection) return this.#send(request, signal);
      throw error;
    });
    if (signal.aborted) message.destroy();
    signal.throwIfAborted();
    const status = message.statusCode ?? 0;
    if (status >= 200 && status <= 299) return options.read(message, signal);
    const refusal = parseRefusal(status, message.headers, await this.#errorBody(message, signal));
    const accepted = options.accept?.(refusal);
    if (accepted !== undefined) return accepted;
    throw refusalFailure(refusal, this.#ports.clock.now());
  }

  #send({ method, fullKey, query, headers, body }: S3Request, signal: AbortSignal): Promise<IncomingMessage> {
    const url = requestUrl(this.#settings, fullKey, query);
    const sha256 = body?.sha256 ?? EMPTY_SHA256;
    const signed = signRequest({ method, url, sha256, nowMs: this.#ports.clock.now() }, this.#settings);
    const length = body === undefined ? {} : { 'content-length': body.size };
    const sent = { ...headers, ...signed, ...length };
    return this.#exchange({ method, url, headers: sent, open: body?.open }, signal);
  }

  /** The body of a refusal; one that is cut or too large says nothing, and the status is enough. */
  async #errorBody(message: IncomingMessage, signal: AbortSignal): Promise<string> {
    try {
      return await readText(message, { ...this.#settings, signal }, MAX_ERROR_BYTES);
    } catch (error) {
      if (error instanceof StoreFailure) return '';
      throw error;
    }
  }
}

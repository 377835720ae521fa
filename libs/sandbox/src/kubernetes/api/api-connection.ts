import { Agent as HttpAgent, type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { errnoOf } from '@caribou/core';
import type { ApiAccess } from './api-access.js';
import { ApiFailure, type ApiRequestName, failureOfAnswer, failureOfConnection } from './api-failure.js';

/** One request to the API server. */
export interface ApiRequest extends ApiRequestName {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Beginning with a slash, without a query. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Default: application/json. */
  readonly contentType?: string;
}

/** Connections at the same time; a watch has one of them. */
const MAX_SOCKETS = 32;
/** Idle connections are closed after this time: what is in between may drop them silently. */
const IDLE_MS = 15_000;
/** Largest answer: a page of pods has about 10 KB each. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
const MAX_REFUSAL_BYTES = 65_536;

/** The connections of a driver to the API server. */
export class ApiConnection {
  private readonly agent: HttpAgent;
  private readonly isTls: boolean;

  constructor(private readonly access: ApiAccess) {
    const { ca, cert, key } = access;
    this.isTls = access.server.startsWith('https:');
    const options = { keepAlive: true, maxSockets: MAX_SOCKETS, timeout: IDLE_MS };
    this.agent = this.isTls ? new HttpsAgent({ ...options, ca, cert, key }) : new HttpAgent(options);
  }

  get server(): string {
    return this.access.server;
  }

  /** The answer's JSON. One attempt. @throws {ApiFailure} */
  async send(request: ApiRequest, timeoutMs: number): Promise<unknown> {
    const deadline = AbortSignal.timeout(timeoutMs);
    const text = await this.attempt(request, deadline, (answer) => readText(answer, MAX_ANSWER_BYTES, deadline));
    try {
      return JSON.parse(text) as unknown;
    } catch (cause) {
      throw failureOfConnection('its answer is not JSON', cause);
    }
  }

  /** The answer as it comes, which ends with the signal. @throws {ApiFailure} */
  stream(request: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> {
    return this.attempt(request, signal, (answer) => Promise.resolve(answer));
  }

  /** Ends all connections. */
  close(): void {
    this.agent.destroy();
  }

  private async attempt<T>(
    request: ApiRequest,
    signal: AbortSignal,
    read: (answer: IncomingMessage) => Promise<T>,
  ): Promise<T> {
    const token = await this.access.token();
    try {
      const answer = await this.exchange(request, token, signal);
      const status = answer.statusCode ?? 0;
      if (status >= 200 && status < 300) return await read(answer);
      const body = await readText(answer, MAX_REFUSAL_BYTES, signal);
      const retryAfter = answer.headers['retry-after'];
      throw failureOfAnswer({ status, body, ...(retryAfter === undefined ? {} : { retryAfter }) }, request);
    } catch (error) {
      throw toFailure(error);
    }
  }

  private exchange(request: ApiRequest, token: string | undefined, signal: AbortSignal): Promise<IncomingMessage> {
    const { method, path, query = {}, body, contentType = 'application/json' } = request;
    const url = new URL(this.access.server + path);
    url.search = new URLSearchParams(query).toString();
    const text = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const options: RequestOptions = {
      method,
      agent: this.agent,
      signal,
      headers: {
        accept: 'application/json',
        'user-agent': 'caribou-sandbox-manager',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(text === undefined ? {} : { 'content-type': contentType, 'content-length': text.byteLength }),
      },
    };
    return new Promise((resolve, reject) => {
      const sent = this.isTls ? httpsRequest(url, options, resolve) : httpRequest(url, options, resolve);
      sent.on('error', reject);
      // The agent's time-out is for idle connections; a request has its signal.
      sent.end(text);
    });
  }
}

async function readText(answer: IncomingMessage, maxBytes: number, signal: AbortSignal): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer.iterator({ destroyOnReturn: true }) as AsyncIterable<Buffer>) {
    signal.throwIfAborted();
    bytes += piece.byteLength;
    if (bytes > maxBytes) throw failureOfConnection(`its answer has more than ${maxBytes} bytes`, undefined);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

const HINTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens at its address',
  ENOTFOUND: 'its host name is not known',
  EAI_AGAIN: 'its host name cannot be looked up now',
  EHOSTUNREACH: 'its host cannot be reached',
  ECONNRESET: 'it closed the connection',
  ABORT_ERR: 'its time is up',
};

function toFailure(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  const code = errnoOf(error) ?? '';
  const message = error instanceof Error ? error.message : String(error);
  if (code.includes('CERT') || code.startsWith('ERR_TLS') || code.includes('SIGNATURE'))
    return failureOfConnection(`its certificate is not accepted (${code})`, error);
  const isLate = error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError');
  return failureOfConnection(isLate ? 'its time is up' : (HINTS[code] ?? `the connection broke (${message})`), error);
}

import { urlToHttpOptions } from 'node:url';
import { Connections } from './connections.js';
import { type Answer, type AnswerHeaders, Exchange } from './exchange.js';

/**
 * Requests over undici's client for one connection. Unlike `fetch` they have a timeout for the connection alone (local servers may take
 * minutes to their first byte, because they load the model first), a limit for error bodies, and bodies without streams. A call takes
 * two thirds of the CPU that it takes over node:http.
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
 * Posts a body and resolves with a 2xx answer, whose body flows only once it is read.
 *
 * @param signal closes the connection, also while the answer is read
 * @throws {Refusal} for another status or for JSON, {ConnectTimeout}, and errors of a socket
 */
export type Post = (body: Buffer, signal: AbortSignal) => Promise<Answer>;

/**
 * The endpoint answered with a status other than 2xx, or with JSON in place of a stream. The body may contain the key and must be redacted
 * before use.
 */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly headers: Readonly<Record<string, string>>,
    readonly body: string,
  ) {
    super(`HTTP ${status}`);
  }
}

const MAX_ERROR_BODY_BYTES = 64 * 1024;

export function createTransport({ connectMs }: { readonly connectMs: number }): Transport {
  return {
    openTarget: (target) => {
      const url = new URL(target.url);
      const connections = new Connections(url.origin, connectMs);
      const path = url.pathname + url.search;
      const headers = headersOf(target.headers, url);
      return async (body, signal) => {
        signal.throwIfAborted();
        const answer = await Exchange.begin({ method: 'POST', path, headers, body }, connections, signal);
        const { status } = answer;
        if (status < 200 || status > 299 || isJson(answer)) {
          throw new Refusal(status, firstOf(answer.headers), await readErrorBody(answer));
        }
        return answer;
      };
    },
  };
}

/** Headers that undici refuses: they concern the connection, which is its own. */
const OF_CONNECTION = ['content-length', 'expect', 'keep-alive', 'transfer-encoding', 'upgrade'];

/** Names and values in turn. */
function headersOf(headers: Headers, url: URL): string[] {
  const all = new Headers(headers);
  for (const name of OF_CONNECTION) all.delete(name);
  if (!all.has('host')) all.set('host', url.host);
  const { auth } = urlToHttpOptions(url);
  if (typeof auth === 'string' && !all.has('authorization'))
    all.set('authorization', `Basic ${Buffer.from(auth).toString('base64')}`);
  return [...all].flat();
}

const isJson = ({ headers }: Answer): boolean => String(headers['content-type']).startsWith('application/json');

/** Of several headers with one name the first. */
const firstOf = (headers: AnswerHeaders): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value = '']) => [name, [value].flat()[0] ?? '']));

/** Reads at most 64 KiB of an error body, and returns what it has when the connection breaks. */
function readErrorBody(answer: Answer): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve) => {
    answer.read({
      part: (part) => {
        parts.push(part);
        bytes += part.length;
        if (bytes >= MAX_ERROR_BODY_BYTES) answer.close();
      },
      end: () => {
        resolve(Buffer.concat(parts).toString('utf8', 0, MAX_ERROR_BODY_BYTES));
      },
    });
  });
}

import { ForbiddenError, omitUndefined } from '@caribou/contracts';
import { parseUrl } from './checked-url.js';

/** One request on the way to an answer. */
export interface Hop {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body?: string | Uint8Array;
}

/** Headers that reveal nothing about the caller and may be sent to another origin; keys and cookies may not. */
const HARMLESS = ['accept', 'accept-language', 'user-agent'];
const REDIRECTS = [301, 302, 303, 307, 308];
const KEEP_METHOD = [307, 308];

interface Answered {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
}

/**
 * The request that an answer redirects to, or undefined when it does not (Fetch standard, HTTP-redirect fetch). To
 * another origin go no secrets of the caller.
 *
 * @throws {InvalidRequestError} when it leads to what is no URL
 * @throws {ForbiddenError} when a body would go to another origin
 */
export function nextHop(hop: Hop, { status, headers }: Answered): Hop | undefined {
  const location = headers.get('location');
  if (!REDIRECTS.includes(status) || location === null) return undefined;
  // Headers come byte by byte as Latin-1; browsers take the bytes of a location for UTF-8.
  const url = parseUrl(Buffer.from(location, 'latin1').toString(), hop.url);
  const sameOrigin = url.origin === hop.url.origin;
  const body = KEEP_METHOD.includes(status) ? hop.body : undefined;
  if (body !== undefined && !sameOrigin)
    throw new ForbiddenError(`${hop.url.host} redirects a request with a body to another host`);
  const method = KEEP_METHOD.includes(status) || hop.method === 'HEAD' ? hop.method : 'GET';
  const isSent = (name: string): boolean =>
    (sameOrigin || HARMLESS.includes(name)) && (body !== undefined || !name.startsWith('content-'));
  const sentHeaders = new Headers([...hop.headers].filter(([name]) => isSent(name)));
  return { url, method, headers: sentHeaders, ...omitUndefined({ body }) };
}

import type { AuthConfig } from '@caribou/config';
import { parseCookie, type SetCookie, stringifySetCookie } from 'cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { csrfTokenOf } from './session-token.js';

/** DeerFlow's web client expects these names and attributes. */
const ACCESS = 'access_token';
const CSRF = 'csrf_token';
/** The web client reads the CSRF cookie; browsers do not send it with requests from other sites. */
const CSRF_TRAITS = { path: '/', sameSite: 'strict' } as const;
const ACCESS_TRAITS = { path: '/', sameSite: 'lax', httpOnly: true } as const;

/** A session that was opened for a request. */
export interface OpenedSession {
  readonly token: string;
  readonly ttlMs: number;
  /** Whether its cookies outlive the browser. */
  readonly remembered: boolean;
}

/** The session token in the cookie of the request. */
export const accessToken = (request: FastifyRequest): string | undefined =>
  parseCookie(request.headers.cookie ?? '')[ACCESS];

export interface CookieTarget {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly secureCookies: AuthConfig['secureCookies'];
}

export function setSessionCookies(target: CookieTarget, { token, ttlMs, remembered }: OpenedSession): void {
  const lifetime = remembered ? { maxAge: Math.floor(ttlMs / 1_000) } : {};
  write(target, { ...ACCESS_TRAITS, ...lifetime, name: ACCESS, value: token });
  write(target, { ...CSRF_TRAITS, ...lifetime, name: CSRF, value: csrfTokenOf(token) });
}

export function clearSessionCookies(target: CookieTarget): void {
  write(target, { ...ACCESS_TRAITS, name: ACCESS, value: '', maxAge: 0 });
  write(target, { ...CSRF_TRAITS, name: CSRF, value: '', maxAge: 0 });
}

function write({ request, reply, secureCookies }: CookieTarget, cookie: SetCookie): void {
  const secure = secureCookies === 'always' || (secureCookies === 'auto' && request.protocol === 'https');
  void reply.header('set-cookie', stringifySetCookie({ ...cookie, secure }));
}

import { ForbiddenError, signInRoutes } from '@caribou/contracts';
import type { AccountStore } from '@caribou/state';
import type { FastifyRequest } from 'fastify';
import type { Authenticate, Entry } from './authenticate.js';
import { keyOf } from './api-keys.js';
import { setPrincipal } from './principal.js';
import { patternsOf } from './route-roles.js';
import { accessToken } from './session-cookies.js';
import { isCsrfToken, sessionKeyOf } from './session-token.js';
import type { CredentialWatch } from './credential-watch.js';
import { SignInRefusal } from './sign-in-refusal.js';

/** What the guard needs to authenticate users by their sessions. */
export interface SessionDependencies {
  readonly accounts: Pick<AccountStore, 'session'>;
  readonly watch: Pick<CredentialWatch, 'add'>;
}

/**
 * Routes that web clients call without a CSRF token. A foreign page fails because of its Origin and lacks the password.
 */
const withoutCsrfToken: ReadonlySet<string> = new Set(patternsOf(signInRoutes.changePassword));
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

interface SessionGuardOptions {
  readonly sessions: SessionDependencies;
  readonly mayCall: (origin: string) => boolean;
  /** Authenticates requests with an API key. They need no CSRF token, since browsers never add a key by themselves. */
  readonly authenticateByKey: Authenticate;
}

/**
 * Authenticates users by the session in their cookie. Web pages of foreign origins are refused, and requests that change
 * anything must repeat the CSRF token.
 */
export function authenticateBySession({ sessions, mayCall, authenticateByKey }: SessionGuardOptions): Authenticate {
  return async (entry) => {
    const { request, open } = entry;
    if (keyOf(request.headers) !== undefined) return await authenticateByKey(entry);
    const route = request.routeOptions.url ?? '';
    if (open && safeMethods.has(request.method)) return;
    refuseForeignPages(request, mayCall);
    if (open) return;
    const token = accessToken(request);
    if (token === undefined) throw new SignInRefusal(401, 'not_authenticated', 'sign in first');
    await authenticateToken(sessions, entry, token);
    if (needsCsrfToken(request, route)) checkCsrf(request, token);
  };
}

/**
 * Whether the request changes something, as does a GET that cancels its run when the client disconnects, or opens a socket for
 * commands.
 */
function needsCsrfToken(request: FastifyRequest, route: string): boolean {
  if (!safeMethods.has(request.method)) return !withoutCsrfToken.has(route);
  return (cancelsOnDisconnect(request) || request.headers.upgrade !== undefined) && !isFromOwnPage(request);
}

const cancelsOnDisconnect = ({ query }: FastifyRequest): boolean =>
  typeof query === 'object' && query !== null && 'cancel_on_disconnect' in query;

/**
 * Whether a browser sent the request from an allowed page. Pages cannot forge these headers; the Origin was checked
 * before.
 */
const isFromOwnPage = ({ headers }: FastifyRequest): boolean =>
  headers.origin !== undefined || headers['sec-fetch-site'] === 'same-origin';

async function authenticateToken(
  { accounts, watch }: SessionDependencies,
  { request, reply }: Entry,
  token: string,
): Promise<void> {
  const key = sessionKeyOf(token);
  const holder = key === undefined ? null : await accounts.session(key);
  if (key === undefined || holder === null)
    throw new SignInRefusal(401, 'token_invalid', 'the session is over; sign in again');
  const { account, remembered } = holder;
  setPrincipal(request, {
    userId: account.userId,
    admin: account.admin,
    session: { email: account.email, remembered },
  });
  watch.add(reply.raw, { kind: 'session', ...key });
}

function checkCsrf(request: FastifyRequest, token: string): void {
  if (!isCsrfToken(request.headers['x-csrf-token'], token))
    throw new SignInRefusal(403, 'csrf_token_invalid', 'X-CSRF-Token must repeat the cookie csrf_token');
}

/**
 * Refuses pages of foreign origins. Browsers send an Origin with every change and cross-origin read; programs send
 * none.
 */
function refuseForeignPages(request: FastifyRequest, mayCall: (origin: string) => boolean): void {
  const { origin } = request.headers;
  if (origin === undefined || mayCall(origin)) return;
  const own = [request.headers.host, request.host];
  if (!own.some((host) => origin === `http://${host}` || origin === `https://${host}`))
    throw new ForbiddenError('pages of this origin may not call');
}

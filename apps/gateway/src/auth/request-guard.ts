import { DEFAULT_USER_ID, ForbiddenError, UnauthenticatedError } from '@caribou/contracts';
import type { HttpConfig } from '@caribou/config';
import type { FastifyInstance } from 'fastify';
import type { Authenticate } from './authenticate.js';
import { keyOf, keyRing } from './api-keys.js';
import { isLoopbackHost, isPlainHost, originRule } from './origins.js';
import { authenticateBySession, type SessionDependencies } from './session-guard.js';
import { setPrincipal } from './principal.js';

/** Routes that answer without a key, by the pattern they are registered under. */
const publicRoutes: ReadonlySet<string> = new Set([
  '/',
  '/health',
  '/ready',
  '/docs',
  '/docs/:file',
  '/openapi.json',
  '/api/ok',
  '/api/info',
  '/api/langgraph/ok',
  '/api/langgraph/info',
]);

type GuardConfig = Pick<HttpConfig, 'apiKeys' | 'allowUnauthenticated' | 'corsOrigins'>;

/**
 * Lets every request in or refuses it, before its body is read. The decision is on the matched route, not on the
 * path's text, and what is not on the public list needs a key or a session, an unknown path included.
 *
 * Without keys and sign-in everybody is the local user and an admin, so the browser is the danger: a page of another
 * origin, or one whose name was pointed at this machine, is refused.
 *
 * @param sessions absent when users do not sign in
 */
export function addRequestGuard(server: FastifyInstance, config: GuardConfig, sessions?: SessionDependencies): void {
  const authenticate = chooseAuthenticator(config, sessions);
  server.addHook('onRequest', async (request, reply) => {
    const open = request.routeOptions.url !== undefined && publicRoutes.has(request.routeOptions.url);
    await authenticate({ request, reply, open });
  });
}

function chooseAuthenticator(config: GuardConfig, sessions: SessionDependencies | undefined): Authenticate {
  if (sessions !== undefined)
    return authenticateBySession({
      sessions,
      mayCall: originRule(config.corsOrigins),
      authenticateByKey: authenticateByKey(config),
    });
  return config.apiKeys.length > 0 ? authenticateByKey(config) : authenticateLocalUser(config);
}

function authenticateByKey({ apiKeys }: GuardConfig): Authenticate {
  const find = keyRing(apiKeys);
  return ({ request, open }) => {
    const key = keyOf(request.headers);
    const principal = key === undefined ? undefined : find(key);
    if (principal !== undefined) setPrincipal(request, principal);
    else if (!open)
      throw new UnauthenticatedError(key === undefined ? 'an API key is needed' : 'the API key is not known');
  };
}

function authenticateLocalUser({ allowUnauthenticated, corsOrigins }: GuardConfig): Authenticate {
  const mayCall = originRule(corsOrigins);
  const listedHosts = new Set(corsOrigins.map((origin) => new URL(origin).host));
  const isKnownHost = (host: string): boolean =>
    isLoopbackHost(host) || listedHosts.has(host) || (allowUnauthenticated && isPlainHost(host));
  return ({ request }) => {
    const { origin, host = '' } = request.headers;
    const sameOrigin = origin === `http://${host}` || origin === `https://${host}`;
    if (!isKnownHost(host)) throw new ForbiddenError('the Host header names another machine');
    if (origin !== undefined && !sameOrigin && !mayCall(origin))
      throw new ForbiddenError('pages of this origin may not call');
    setPrincipal(request, { userId: DEFAULT_USER_ID, admin: true });
  };
}

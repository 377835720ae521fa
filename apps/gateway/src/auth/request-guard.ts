import { DEFAULT_USER_ID, ForbiddenError, UnauthenticatedError } from '@caribou/contracts';
import type { HttpConfig } from '@caribou/config';
import type { FastifyInstance } from 'fastify';
import type { Authenticate } from './authenticate.js';
import { keyOf, createKeyFinder } from './api-keys.js';
import { isLoopbackHost, isPlainHost, createOriginRule } from './origins.js';
import { authenticateBySession, type SessionDependencies } from './session-guard.js';
import { findPrincipal, setPrincipal } from './principal.js';
import { requiredRole } from './route-roles.js';

type GuardConfig = Pick<HttpConfig, 'apiKeys' | 'allowUnauthenticated' | 'corsOrigins'>;

/**
 * Authenticates every request before its body is read, and checks the role that the contract of its route requires. The
 * decision depends on the matched route, not on the text of the path; unknown paths need an API key or a session.
 *
 * Without keys and sign-in, every request comes from the local user, who is an administrator. Requests of web pages are
 * then refused when their origin is foreign, or when their host name was pointed at this machine (DNS rebinding).
 *
 * @param sessions absent when users do not sign in
 */
export function addRequestGuard(server: FastifyInstance, config: GuardConfig, sessions?: SessionDependencies): void {
  const authenticate = chooseAuthenticator(config, sessions);
  server.addHook('onRequest', async (request, reply) => {
    const role = requiredRole(request);
    await authenticate({ request, reply, open: role === 'public' });
    if (role === 'administrator' && findPrincipal(request)?.admin !== true)
      throw new ForbiddenError('this route is for administrators');
  });
}

function chooseAuthenticator(config: GuardConfig, sessions: SessionDependencies | undefined): Authenticate {
  if (sessions !== undefined)
    return authenticateBySession({
      sessions,
      mayCall: createOriginRule(config.corsOrigins),
      authenticateByKey: authenticateByKey(config),
    });
  return config.apiKeys.length > 0 ? authenticateByKey(config) : authenticateLocalUser(config);
}

function authenticateByKey({ apiKeys }: GuardConfig): Authenticate {
  const find = createKeyFinder(apiKeys);
  return ({ request, open }) => {
    const key = keyOf(request.headers);
    const principal = key === undefined ? undefined : find(key);
    if (principal !== undefined) setPrincipal(request, principal);
    else if (!open)
      throw new UnauthenticatedError(key === undefined ? 'an API key is needed' : 'the API key is not known');
  };
}

function authenticateLocalUser({ allowUnauthenticated, corsOrigins }: GuardConfig): Authenticate {
  const mayCall = createOriginRule(corsOrigins);
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

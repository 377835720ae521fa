import { DEFAULT_USER_ID, ForbiddenError } from '@caribou/contracts';
import type { HttpConfig } from '@caribou/config';
import type { FastifyInstance } from 'fastify';
import type { Authenticate } from './authenticate.js';
import { hasMadeKey, type KeyAuthenticator } from './key-authenticator.js';
import { isLoopbackHost, isPlainHost, createOriginRule } from './origins.js';
import { authenticateBySession, type SessionDependencies } from './session-guard.js';
import { findPrincipal, setPrincipal } from './principal.js';
import { requiredRole } from './route-roles.js';

type GuardConfig = Pick<HttpConfig, 'apiKeys' | 'allowUnauthenticated' | 'corsOrigins'>;

export interface GuardDependencies {
  readonly keys: Pick<KeyAuthenticator, 'authenticate'>;
  /** Absent when users do not sign in. */
  readonly sessions?: SessionDependencies | undefined;
}

/**
 * Authenticates every request before its body is read, and checks the role that the contract of its route requires. The
 * decision depends on the matched route, not on the text of the path; unknown paths need an API key or a session.
 *
 * Without keys and sign-in, every request comes from the local user, who is an administrator. Requests of web pages are
 * then refused when their origin is foreign, or when their host name was pointed at this machine (DNS rebinding). Keys that
 * administrators make change nothing about that: a request that has one is that of the key's user.
 */
export function addRequestGuard(server: FastifyInstance, config: GuardConfig, dependencies: GuardDependencies): void {
  const authenticate = chooseAuthenticator(config, dependencies);
  server.addHook('onRequest', async (request, reply) => {
    const role = requiredRole(request);
    await authenticate({ request, reply, open: role === 'public' });
    if (role === 'administrator' && findPrincipal(request)?.admin !== true)
      throw new ForbiddenError('this route is for administrators');
  });
}

function chooseAuthenticator(config: GuardConfig, { keys, sessions }: GuardDependencies): Authenticate {
  const authenticateByKey: Authenticate = (entry) => keys.authenticate(entry);
  if (sessions !== undefined)
    return authenticateBySession({ sessions, mayCall: createOriginRule(config.corsOrigins), authenticateByKey });
  return config.apiKeys.length > 0 ? authenticateByKey : authenticateLocalUser(config, authenticateByKey);
}

function authenticateLocalUser(
  { allowUnauthenticated, corsOrigins }: GuardConfig,
  authenticateByKey: Authenticate,
): Authenticate {
  const mayCall = createOriginRule(corsOrigins);
  const listedHosts = new Set(corsOrigins.map((origin) => new URL(origin).host));
  const isKnownHost = (host: string): boolean =>
    isLoopbackHost(host) || listedHosts.has(host) || (allowUnauthenticated && isPlainHost(host));
  return (entry) => {
    const { request } = entry;
    const { origin, host = '' } = request.headers;
    const sameOrigin = origin === `http://${host}` || origin === `https://${host}`;
    if (!isKnownHost(host)) throw new ForbiddenError('the Host header names another machine');
    if (origin !== undefined && !sameOrigin && !mayCall(origin))
      throw new ForbiddenError('pages of this origin may not call');
    if (hasMadeKey(entry)) return authenticateByKey(entry);
    setPrincipal(request, { userId: DEFAULT_USER_ID, admin: true });
    return undefined;
  };
}

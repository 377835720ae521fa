import { signInRoutes, UnsupportedMediaTypeError } from '@caribou/contracts';
import type { FastifyInstance } from 'fastify';

/** Maximum size of a sign-in body, which contains an e-mail address and at most two passwords. */
const MAX_BYTES = 16_384;
const SIGN_IN_ROUTE = /^\/api\/(langgraph\/)?v1\/auth\//;

/**
 * Bounds the bodies of sign-in routes, and allows form bodies only for the login, because browsers send forms to other
 * sites without a preflight request.
 */
export function registerSignInParsers(server: FastifyInstance): void {
  server.addHook('onRoute', (route) => {
    if (SIGN_IN_ROUTE.test(route.url)) route.bodyLimit = MAX_BYTES;
  });
  const form = { parseAs: 'string', bodyLimit: MAX_BYTES } as const;
  server.addContentTypeParser<string>(signInRoutes.login.consumes, form, (request, text, done) => {
    if (request.routeOptions.url?.endsWith(signInRoutes.login.path) === true)
      done(null, Object.fromEntries(new URLSearchParams(text)));
    else done(new UnsupportedMediaTypeError('the content type must be application/json'));
  });
}

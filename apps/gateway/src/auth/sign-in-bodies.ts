import { signInRoutes, UnsupportedMediaTypeError } from '@caribou/contracts';
import type { FastifyInstance } from 'fastify';

/** Bodies of sign-in hold an e-mail and two passwords. */
const MAX_BYTES = 16_384;
const SIGN_IN_ROUTE = /^\/api\/(langgraph\/)?v1\/auth\//;

/**
 * Bounds the bodies of sign-in routes, and makes the login the only route that takes a form: browsers send forms to other
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

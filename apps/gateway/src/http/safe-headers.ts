import type { FastifyInstance } from 'fastify';

/** Answers that may not be framed and load nothing; the pages of `/` and `/docs` have policies of their own. */
const NOT_FRAMED = "default-src 'none'; frame-ancestors 'none'";

/**
 * What every answer says unless its route says otherwise: browsers and proxies do not store it, its type is not guessed, and
 * JSON is neither framed nor run. Files of users have rules of their own.
 */
export function addSafeHeaders(server: FastifyInstance): void {
  server.addHook('onRequest', (_request, reply, done) => {
    void reply.headers({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
    done();
  });
  server.addHook('onSend', (_request, reply, payload, done) => {
    if (/^application\/json/.test(String(reply.getHeader('content-type')))) {
      void reply.header('x-frame-options', 'DENY');
      if (!reply.hasHeader('content-security-policy')) void reply.header('content-security-policy', NOT_FRAMED);
    }
    done(null, payload);
  });
}

import type { FastifyInstance } from 'fastify';

/** Policy for answers that load nothing and may not be framed; the pages of `/` and `/docs` have their own policies. */
const NOT_FRAMED = "default-src 'none'; frame-ancestors 'none'";

/**
 * Sets the default headers of all answers: browsers and proxies do not store them, do not guess their type, and neither
 * frame nor execute JSON. Routes for files of users set their own headers.
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

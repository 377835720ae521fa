import type { Logger } from '@caribou/core';
import type { FastifyInstance } from 'fastify';
import { findPrincipal } from '../auth/principal.js';

/** Logs one line per finished request; a stream is finished when its connection is closed. */
export function addAccessLog(server: FastifyInstance, logger: Logger): void {
  server.addHook('onRequest', (request, reply, done) => {
    const startedAt = performance.now();
    reply.raw.once('close', () => {
      const status = reply.raw.statusCode;
      logger.info(
        {
          event: 'http.request',
          outcome: status >= 500 ? 'error' : 'ok',
          method: request.method,
          route: request.routeOptions.url ?? 'unknown',
          status,
          clientAddress: request.ip,
          userId: findPrincipal(request)?.userId,
          requestId: request.id,
          durationMs: Math.round(performance.now() - startedAt),
        },
        'request',
      );
    });
    done();
  });
}

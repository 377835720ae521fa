import type { FastifyRequest } from 'fastify';
import type { StartHeaders } from './runs.service.js';

/** What of a request's head matters for starting a run. */
export function startHeaders({ headers, body }: FastifyRequest): StartHeaders {
  const { traceparent } = headers;
  return {
    idempotencyKey: headers['idempotency-key'],
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
    rawBody: body,
  };
}

/** `Last-Event-ID`; clients send it once. */
export function lastEventId({ headers }: FastifyRequest): string | undefined {
  const id = headers['last-event-id'];
  return typeof id === 'string' ? id : undefined;
}

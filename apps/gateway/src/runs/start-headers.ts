import type { FastifyRequest } from 'fastify';
import { addStoreWork } from '../http/request-budget.js';
import type { StartHeaders } from './runs.service.js';

/**
 * A run reads its thread's state, sends it to the model and shows it: as much work as so many reads of it, in more than
 * one process.
 */
const READS_PER_RUN = 24;

/** What of a request's head matters for starting a run. */
export function startHeaders(request: FastifyRequest): StartHeaders {
  const { headers, body } = request;
  const { traceparent } = headers;
  return {
    idempotencyKey: headers['idempotency-key'],
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
    rawBody: body,
    onStateBytes: (bytes) => addStoreWork(request, bytes * READS_PER_RUN),
  };
}

/** `Last-Event-ID`; clients send it once. */
export function lastEventId({ headers }: FastifyRequest): string | undefined {
  const id = headers['last-event-id'];
  return typeof id === 'string' ? id : undefined;
}

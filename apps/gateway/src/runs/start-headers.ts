import type { FastifyRequest } from 'fastify';
import { addStoreWork } from '../http/request-budget.js';
import type { StartHeaders } from './runs.service.js';

/**
 * Cost of a run in reads of its thread's state: several processes read the state, send it to the model and show it to
 * clients.
 */
const READS_PER_RUN = 24;

/** Everything that starting a run needs from a request besides the parsed body. */
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

/** The `Last-Event-ID` header; undefined when it is absent or repeated. */
export function lastEventId({ headers }: FastifyRequest): string | undefined {
  const id = headers['last-event-id'];
  return typeof id === 'string' ? id : undefined;
}

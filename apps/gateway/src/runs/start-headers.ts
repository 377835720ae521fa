import type { FastifyReply, FastifyRequest } from 'fastify';
import { addQuota } from '../http/rate-limit-headers.js';
import { addStoreWork } from '../http/request-budget.js';
import { keyLabel, principalOf } from '../auth/principal.js';
import type { StartHeaders } from './started-run.js';

/**
 * Cost of a run in reads of its thread's state: several processes read the state, send it to the model and show it to
 * clients.
 */
const READS_PER_RUN = 24;

/** Everything that starting a run needs from a request besides the parsed body. */
export function startHeaders(request: FastifyRequest, reply: FastifyReply): StartHeaders {
  const { headers, body } = request;
  const { traceparent } = headers;
  return {
    idempotencyKey: headers['idempotency-key'],
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
    apiKey: keyLabel(principalOf(request)),
    admin: principalOf(request).admin,
    clientAddress: request.ip,
    rawBody: body,
    onAdmitted: ({ stateBytes, runs }) => {
      addStoreWork(request, stateBytes * READS_PER_RUN);
      if (runs !== null) addQuota(reply, runs);
    },
  };
}

/** The `Last-Event-ID` header; undefined when it is absent or repeated. */
export function lastEventId({ headers }: FastifyRequest): string | undefined {
  const id = headers['last-event-id'];
  return typeof id === 'string' ? id : undefined;
}

import { dataEvent } from '../../chat/chunk-renderer.js';
import type { PairingFault } from '../../chat/pairing.js';
import type { ShapeIssue } from '../../chat/shape.js';
import type { Problem, ProblemAnswers } from '../../framework/problem.js';
import { Refusal } from '../../framework/refusal.js';
import type { HttpAnswer } from '../../framework/vendor.js';

/** MiniMax ends each message with its own code in brackets. */
function answer(status: number, message: string, { type, code }: { type: string; code: number }): HttpAnswer {
  return {
    status,
    body: {
      type: 'error',
      error: { type, message: `${message} (${code})`, http_code: String(status) },
      request_id: '0660b098aa1e9dd5a6773a48c479fc89',
    },
  };
}

export function refuse(rule: string, message: string): Refusal {
  return new Refusal(rule, answer(400, `invalid params, ${message}`, { type: 'bad_request_error', code: 2013 }));
}

export function shapeRefusal({ path, message, fault, keys, value }: ShapeIssue): Refusal {
  if (keys[0] === 'messages' && keys.at(-1) === 'role') {
    return refuse('role', `chat content has invalid message role: ${String(value)}`);
  }
  return refuse('shape', fault === 'missing' ? `${path} is required` : `${path}: ${message}`);
}

export function pairingRefusal(fault: PairingFault): Refusal {
  if (fault.fault === 'orphan') return refuse('tool results', 'tool result does not follow tool call');
  if (fault.fault === 'duplicate') return refuse('tool results', `duplicate tool call id: ${fault.id}`);
  return refuse('tool results', 'tool call and result not match');
}

export const minimaxProblems: ProblemAnswers<HttpAnswer | undefined> = {
  'unreadable-body': () =>
    answer(400, 'invalid params, binding: expr_path=', { type: 'bad_request_error', code: 2013 }),
  'unknown-path': () => ({ status: 404, body: '404 page not found' }),
  'wrong-key': () =>
    answer(401, "login fail: Please carry the API secret key in the 'Authorization' field of the request header", {
      type: 'authorized_error',
      code: 1004,
    }),
  'model-gone': ({ model }) =>
    answer(400, `invalid params, unknown model '${model}'`, { type: 'bad_request_error', code: 2013 }),
  'context-overflow': ({ limit }) =>
    answer(400, `invalid params, context window exceeds limit ${limit}`, { type: 'bad_request_error', code: 2013 }),
  'rate-limit': ({ retryAfterS }) => ({
    ...answer(429, 'rate limit exceeded(RPM)', { type: 'rate_limit_error', code: 1002 }),
    ...(retryAfterS === undefined ? {} : { headers: { 'retry-after': String(retryAfterS) } }),
  }),
  quota: () => answer(429, 'insufficient balance', { type: 'insufficient_balance_error', code: 1008 }),
  overload: () =>
    answer(529, 'the server cluster is currently under high load, please retry after a short wait', {
      type: 'overloaded_error',
      code: 2064,
    }),
  status: ({ status, message }) =>
    answer(status, message, { type: status >= 500 ? 'server_error' : 'bad_request_error', code: 1000 }),
  'content-filter': () => answer(422, 'input new_sensitive', { type: 'unprocessable_entity_error', code: 1026 }),
  refusal: () => undefined,
  malformed: () => undefined,
};

/** In a stream a failure is a chunk without choices, with the code in base_resp. */
export function minimaxStreamError(problem: Problem): string[] {
  if (problem.kind === 'malformed') return ['data: {"id":"cut","choices":[{"index":0,"delta":{"content":"\n\n'];
  const [status_code, status_msg] =
    problem.kind === 'status' ? [1000, problem.message] : [1001, 'request timeout, please retry'];
  return [
    dataEvent({ choices: null, object: 'chat.completion.chunk', usage: null, base_resp: { status_code, status_msg } }),
  ];
}

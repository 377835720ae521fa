import { dataEvent } from '../../chat/chunk-renderer.js';
import type { PairingFault } from '../../chat/pairing.js';
import type { ShapeIssue } from '../../chat/shape.js';
import type { Problem, ProblemAnswers } from '../../framework/problem.js';
import { Refusal } from '../../framework/refusal.js';
import type { HttpAnswer } from '../../framework/vendor.js';

function answer(status: number, message: string, type = 'invalid_request_error'): HttpAnswer {
  return { status, body: { error: { message, type, param: null, code: 'invalid_request_error' } } };
}

export function refuse(rule: string, message: string): Refusal {
  return new Refusal(rule, answer(400, message));
}

/** A value outside its range is a 422, a body of the wrong form a 400. */
export function shapeRefusal({ fault, path, message, value, limit }: ShapeIssue): Refusal {
  if ((fault === 'long' || fault === 'short') && typeof value === 'number') {
    const text = `Invalid ${path} value, the valid range of ${path} is ${fault === 'long' ? 'at most' : 'at least'} ${limit}`;
    return new Refusal('shape', answer(422, text));
  }
  const what =
    fault === 'missing' ? `missing field \`${path.split('.').at(-1)}\`` : `${message}, got ${JSON.stringify(value)}`;
  return refuse('shape', `Failed to deserialize the JSON body into the target type: ${path}: ${what}`);
}

export function pairingRefusal(fault: PairingFault): Refusal {
  if (fault.fault === 'orphan') {
    return refuse(
      'tool results',
      "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    );
  }
  const text =
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. (insufficient tool messages following tool_calls message)";
  return refuse(
    'tool results',
    fault.fault === 'duplicate' ? `Duplicate 'tool_call_id' value found: ${fault.id}` : text,
  );
}

export const deepseekProblems: ProblemAnswers<HttpAnswer | undefined> = {
  'unreadable-body': ({ message }) => answer(400, `Failed to parse the request body as JSON: ${message}`),
  'unknown-path': ({ path }) => answer(404, `Not found: ${path}`),
  'wrong-key': () => answer(401, 'Authentication Fails, Your api key: ****rong is invalid', 'authentication_error'),
  'model-gone': () => answer(400, 'Model Not Exist'),
  'context-overflow': ({ tokens, limit }) =>
    answer(
      400,
      `This model's maximum context length is ${limit} tokens. However, you requested ${tokens} tokens (${tokens} in the messages, 0 in the completion). Please reduce the length of the messages or completion.`,
    ),
  'rate-limit': ({ retryAfterS }) => ({
    ...answer(429, 'Rate limit reached: you are sending requests too quickly.', 'rate_limit_error'),
    ...(retryAfterS === undefined ? {} : { headers: { 'retry-after': String(retryAfterS) } }),
  }),
  quota: () => answer(402, 'Insufficient Balance', 'unknown_error'),
  overload: () =>
    answer(
      503,
      'The server is overloaded due to high traffic. Please retry your request after a brief wait.',
      'server_error',
    ),
  status: ({ status, message }) => answer(status, message, status >= 500 ? 'server_error' : 'invalid_request_error'),
  'content-filter': () => answer(400, 'Content Exists Risk'),
  refusal: () => undefined,
  malformed: () => undefined,
};

/** An overload interrupts the stream by a finish reason of its own. */
export function deepseekStreamError(problem: Problem): string[] {
  if (problem.kind === 'malformed') return ['data: {"id":"cut","choices":[{"index":0,"delta":{"content":"\n\n'];
  if (problem.kind === 'status') return [dataEvent(answer(problem.status, problem.message, 'server_error').body)];
  const choices = [{ index: 0, delta: { content: '' }, logprobs: null, finish_reason: 'insufficient_system_resource' }];
  return [dataEvent({ object: 'chat.completion.chunk', choices, usage: null }), 'data: [DONE]\n\n'];
}

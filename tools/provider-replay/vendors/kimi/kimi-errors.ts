import { dataEvent } from '../../chat/chunk-renderer.js';
import type { PairingFault } from '../../chat/pairing.js';
import type { ShapeIssue } from '../../chat/shape.js';
import type { Problem, ProblemAnswers } from '../../framework/problem.js';
import { Refusal } from '../../framework/refusal.js';
import type { HttpAnswer } from '../../framework/vendor.js';

function answer(status: number, message: string, type = 'invalid_request_error'): HttpAnswer {
  return { status, body: { error: { message, type } } };
}

export function refuse(rule: string, message: string): Refusal {
  return new Refusal(rule, answer(400, message));
}

export function shapeRefusal({ fault, path, message }: ShapeIssue): Refusal {
  if (/\.function\.name$/.test(path)) {
    const text =
      'Invalid request: function name is invalid, must start with a letter and can contain letters, numbers, underscores, and dashes';
    return refuse('function name', text);
  }
  return refuse('shape', `Invalid request: ${path} ${fault === 'missing' ? 'is required' : `is invalid: ${message}`}`);
}

export function pairingRefusal(fault: PairingFault): Refusal {
  if (fault.fault === 'orphan') return refuse('tool results', 'Invalid request: tool_call_id  is not found');
  if (fault.fault === 'duplicate')
    return refuse('tool results', `Invalid request: tool_call_id ${fault.id} is duplicated`);
  return refuse(
    'tool results',
    "Invalid request: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
      `The following tool_call_ids did not have response messages: ${fault.ids.join(', ')}`,
  );
}

const OVERLOADED = 'The engine is currently overloaded, please try again later';

export const kimiProblems: ProblemAnswers<HttpAnswer | undefined> = {
  'unreadable-body': ({ message }) => answer(400, `Invalid request: ${message}`),
  'unknown-path': () => answer(404, 'The requested resource was not found', 'resource_not_found_error'),
  'wrong-key': () => answer(401, 'Invalid Authentication', 'invalid_authentication_error'),
  'model-gone': ({ model }) =>
    answer(404, `Not found the model ${model} or Permission denied`, 'resource_not_found_error'),
  'context-overflow': ({ limit, tokens }) =>
    answer(400, `Invalid request: Your request exceeded model token limit: ${limit} (requested: ${tokens})`),
  'rate-limit': ({ retryAfterS }) => ({
    ...answer(
      429,
      'Your account request reached organization max RPM: 3, please try again after 1 seconds',
      'rate_limit_reached_error',
    ),
    ...(retryAfterS === undefined ? {} : { headers: { 'retry-after': String(retryAfterS) } }),
  }),
  quota: () =>
    answer(
      429,
      'Your account is suspended due to insufficient balance, please recharge your account or check your plan and billing details',
      'exceeded_current_quota_error',
    ),
  overload: () => answer(429, OVERLOADED, 'engine_overloaded_error'),
  status: ({ status, message }) => answer(status, message, status >= 500 ? 'server_error' : 'invalid_request_error'),
  'content-filter': () => answer(400, 'The request was rejected because it was considered high risk', 'content_filter'),
  refusal: () => undefined,
  malformed: () => undefined,
};

export function kimiStreamError(problem: Problem): string[] {
  if (problem.kind === 'malformed') return ['data: {"id":"cut","choices":[{"index":0,"delta":{"content":"\n\n'];
  const { body } =
    problem.kind === 'status'
      ? answer(problem.status, problem.message, 'server_error')
      : answer(429, OVERLOADED, 'engine_overloaded_error');
  return [dataEvent(body)];
}

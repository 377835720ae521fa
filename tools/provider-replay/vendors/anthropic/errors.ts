import { randomBytes } from 'node:crypto';
import type { Problem, ProblemAnswers } from '../../framework/problem.js';
import { Refusal } from '../../framework/refusal.js';
import type { HttpAnswer } from '../../framework/vendor.js';

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

/** The vendor's name for the kind of error that a status reports. */
export function errorType(status: number): string {
  return TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
}

/** An error in the vendor's shape. */
export function errorAnswer(status: number, message: string, headers: Record<string, string> = {}): HttpAnswer {
  const requestId = newRequestId();
  return {
    status,
    headers: { 'request-id': requestId, ...headers },
    body: { type: 'error', error: { type: errorType(status), message }, request_id: requestId },
  };
}

export const newRequestId = (): string => `req_${randomBytes(12).toString('hex')}`;

/** A request that breaks a rule. */
export const invalid = (rule: string, message: string): Refusal => new Refusal(rule, errorAnswer(400, message));

/** The answers to problems before anything is streamed; absent for what an answer reports by its stop reason or in its stream. */
export const anthropicProblems: ProblemAnswers<HttpAnswer | undefined> = {
  'unreadable-body': () => errorAnswer(400, 'The request body is not valid JSON.'),
  'unknown-path': ({ method, path }) => errorAnswer(404, `Not found: ${method} ${path}`),
  'wrong-key': () => errorAnswer(401, 'invalid x-api-key'),
  'model-gone': ({ model }) => errorAnswer(404, `model: ${model}`),
  'context-overflow': ({ tokens, limit }) =>
    errorAnswer(400, `prompt is too long: ${tokens} tokens > ${limit} maximum`),
  'rate-limit': ({ retryAfterS }) =>
    errorAnswer(
      429,
      'This request would exceed the rate limit of your organization.',
      retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) },
    ),
  quota: () => errorAnswer(402, 'Your credit balance is too low to access the API.'),
  overload: () => errorAnswer(529, 'Overloaded'),
  status: ({ status, message }) => errorAnswer(status, message),
  'content-filter': () => undefined,
  refusal: () => undefined,
  malformed: () => undefined,
};

/** The error of a problem that comes after the answer has begun. */
export function streamError(problem: Problem): { type: string; message: string } {
  if (problem.kind === 'overload') return { type: 'overloaded_error', message: 'Overloaded' };
  if (problem.kind === 'status') return { type: errorType(problem.status), message: problem.message };
  return { type: 'api_error', message: 'Internal server error' };
}

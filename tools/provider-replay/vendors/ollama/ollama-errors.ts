import { dataEvent } from '../../chat/chunk-renderer.js';
import type { ShapeIssue } from '../../chat/shape.js';
import type { Problem, ProblemAnswers } from '../../framework/problem.js';
import { Refusal } from '../../framework/refusal.js';
import type { HttpAnswer } from '../../framework/vendor.js';

const TYPES: Record<number, string> = { 400: 'invalid_request_error', 404: 'not_found_error' };

function answer(status: number, message: string): HttpAnswer {
  return { status, body: { error: { message, type: TYPES[status] ?? 'api_error', param: null, code: null } } };
}

export function refuse(rule: string, message: string): Refusal {
  return new Refusal(rule, answer(400, message));
}

export function shapeRefusal({ fault, path, keys, message }: ShapeIssue): Refusal {
  if (path === 'messages' && fault !== 'type') return refuse('shape', "[] is too short - 'messages'");
  if (keys.includes('content')) return refuse('shape', 'invalid message format');
  return refuse('shape', `json: cannot unmarshal value into Go struct field ChatCompletionRequest.${path}: ${message}`);
}

const BUSY = 'server busy, please try again.  maximum pending requests exceeded';

export const ollamaProblems: ProblemAnswers<HttpAnswer | undefined> = {
  'unreadable-body': ({ message }) => answer(400, message),
  'unknown-path': () => ({ status: 404, body: '404 page not found' }),
  'wrong-key': () => ({ status: 401, body: { error: 'unauthorized' } }),
  'model-gone': ({ model }) => answer(404, `model '${model}' not found`),
  'context-overflow': ({ tokens, limit }) =>
    answer(400, `prompt too long; exceeded max context length by ${tokens - limit} tokens`),
  'rate-limit': ({ retryAfterS }) => ({
    ...answer(429, 'too many concurrent requests'),
    ...(retryAfterS === undefined ? {} : { headers: { 'retry-after': String(retryAfterS) } }),
  }),
  quota: () => answer(429, "you've reached your hourly usage limit, please upgrade to continue"),
  overload: () => answer(503, BUSY),
  status: ({ status, message }) => answer(status, message),
  'content-filter': () => undefined,
  refusal: () => undefined,
  malformed: () => undefined,
};

export function ollamaStreamError(problem: Problem): string[] {
  if (problem.kind === 'malformed') return ['data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choi\n\n'];
  const text = problem.kind === 'status' ? problem.message : 'an error was encountered while running the model';
  return [dataEvent(answer(500, text).body)];
}

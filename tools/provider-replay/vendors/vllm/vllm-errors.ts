import { dataEvent } from '../../chat/chunk-renderer.js';
import type { ShapeIssue } from '../../chat/shape.js';
import type { Problem, ProblemAnswers } from '../../framework/problem.js';
import { Refusal } from '../../framework/refusal.js';
import type { HttpAnswer } from '../../framework/vendor.js';

const TYPES: Record<number, string> = { 400: 'BadRequestError', 404: 'NotFoundError', 503: 'ServiceUnavailableError' };

function answer(status: number, message: string, param: string | null = null): HttpAnswer {
  const type = TYPES[status] ?? (status >= 500 ? 'InternalServerError' : 'BadRequestError');
  return { status, body: { error: { message, type, param, code: status } } };
}

export function refuse(rule: string, message: string, param: string | null = null): Refusal {
  return new Refusal(rule, answer(400, message, param));
}

export function shapeRefusal({ fault, path, keys, message, value }: ShapeIssue): Refusal {
  const loc = ['body', ...keys].map((key) => (typeof key === 'number' ? String(key) : `'${String(key)}'`)).join(', ');
  const [type, msg] = fault === 'missing' ? ['missing', 'Field required'] : ['value_error', message];
  const text = `[{'type': '${type}', 'loc': (${loc}), 'msg': '${msg}', 'input': ${JSON.stringify(value ?? null)}}]`;
  return refuse('shape', text, path);
}

export const vllmProblems: ProblemAnswers<HttpAnswer | undefined> = {
  'unreadable-body': ({ message }) => answer(400, `JSON decode error: ${message}`),
  'unknown-path': () => ({ status: 404, body: { detail: 'Not Found' } }),
  'wrong-key': () => ({ status: 401, body: { error: 'Unauthorized' } }),
  'model-gone': ({ model }) => answer(404, `The model \`${model}\` does not exist.`, 'model'),
  'context-overflow': ({ tokens, limit }) =>
    answer(
      400,
      `This model's maximum context length is ${limit} tokens. However, your request has ${tokens} input tokens. Please reduce the length of the input messages.`,
      'input_tokens',
    ),
  'rate-limit': ({ retryAfterS }) => ({
    ...answer(429, 'Too Many Requests'),
    ...(retryAfterS === undefined ? {} : { headers: { 'retry-after': String(retryAfterS) } }),
  }),
  quota: () => answer(429, 'Too Many Requests'),
  overload: () => answer(503, 'The server is overloaded.'),
  status: ({ status, message }) => answer(status, message),
  'content-filter': () => undefined,
  refusal: () => undefined,
  malformed: () => undefined,
};

export function vllmStreamError(problem: Problem): string[] {
  if (problem.kind === 'malformed') return ['data: {"id":"chatcmpl-cut","object":"chat.completion.chunk","choi\n\n'];
  const { body } =
    problem.kind === 'status' ? answer(500, problem.message) : answer(500, 'EngineCore encountered an issue.');
  return [dataEvent(body), 'data: [DONE]\n\n'];
}

import { jsonType, type ShapeIssue } from '../../chat/shape.js';
import type { Problem, ProblemAnswers } from '../../framework/problem.js';
import { Refusal } from '../../framework/refusal.js';
import type { HttpAnswer } from '../../framework/vendor.js';

interface ErrorFields {
  type?: string;
  param?: string | null;
  code?: string | null;
}

/** The error body of OpenAI's API. */
export function openaiError(
  message: string,
  { type = 'invalid_request_error', param, code }: ErrorFields = {},
): object {
  return { error: { message, type, param: param ?? null, code: code ?? null } };
}

/** A 400 for a rule about the request. */
export function refuse(rule: string, message: string, fields: ErrorFields = {}): Refusal {
  return new Refusal(rule, { status: 400, body: openaiError(message, fields) });
}

/** OpenAI's message for a fault of the body's shape. */
export function shapeRefusal(issue: ShapeIssue): Refusal {
  const { fault, path, limit, value } = issue;
  if (fault === 'unknown' && issue.keys.length === 1) {
    return refuse('unknown field', `Unrecognized request argument supplied: ${path}`);
  }
  if (fault === 'unknown') {
    return refuse('unknown field', `Unknown parameter: '${path}'.`, { param: path, code: 'unknown_parameter' });
  }
  if (fault === 'missing') {
    return refuse('shape', `Missing required parameter: '${path}'.`, {
      param: path,
      code: 'missing_required_parameter',
    });
  }
  if (fault === 'type') {
    const message = `Invalid type for '${path}': ${issue.message}, but got ${jsonType(value)} instead.`;
    return refuse('shape', message, { param: path, code: 'invalid_type' });
  }
  if (fault === 'pattern') {
    const message = `Invalid '${path}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
    return refuse('shape', message, { param: path, code: 'invalid_value' });
  }
  if (fault === 'long' || fault === 'short') return lengthRefusal(issue, limit ?? 0);
  return refuse('shape', `Invalid value: ${JSON.stringify(value)}. ${issue.message}`, {
    param: path,
    code: 'invalid_value',
  });
}

function lengthRefusal({ fault, path, value }: ShapeIssue, limit: number): Refusal {
  const long = fault === 'long';
  const bound = long ? 'maximum' : 'minimum';
  const which = long ? 'above_max' : 'below_min';
  if (typeof value === 'string' || Array.isArray(value)) {
    const [kind, unit] = typeof value === 'string' ? ['string', ''] : ['array', ''];
    const message = `Invalid '${path}': ${kind} too ${long ? 'long' : 'short'}. Expected ${kind === 'array' ? 'an array' : 'a string'} with ${bound} length ${limit}${unit}, but got ${kind === 'array' ? 'an array' : 'a string'} with length ${value.length} instead.`;
    return refuse('shape', message, { param: path, code: `${kind}_${which}_length` });
  }
  const message = `Invalid '${path}': decimal ${long ? 'above maximum' : 'below minimum'} value. Expected a value ${long ? '<=' : '>='} ${limit}, but got ${JSON.stringify(value)} instead.`;
  return refuse('shape', message, { param: path, code: `decimal_${which}_value` });
}

const SERVER_ERROR = 'The server had an error while processing your request. Sorry about that!';

/** OpenAI's HTTP answers for problems; a content filter and a refusal end the stream instead. */
export const openaiProblems: ProblemAnswers<HttpAnswer | undefined> = {
  'unreadable-body': () => answer(400, 'We could not parse the JSON body of your request.'),
  'unknown-path': ({ method, path }) => answer(404, `Invalid URL (${method} ${path})`),
  'wrong-key': () =>
    answer(
      401,
      'Incorrect API key provided: sk-wrong. You can find your API key at https://platform.openai.com/account/api-keys.',
      { code: 'invalid_api_key' },
    ),
  'model-gone': ({ model }) =>
    answer(404, `The model \`${model}\` does not exist or you do not have access to it.`, { code: 'model_not_found' }),
  'context-overflow': ({ tokens, limit }) =>
    answer(
      400,
      `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`,
      { param: 'messages', code: 'context_length_exceeded' },
    ),
  'rate-limit': ({ retryAfterS }) => rateLimit(retryAfterS),
  quota: () =>
    answer(429, 'You exceeded your current quota, please check your plan and billing details.', {
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    }),
  overload: () => answer(503, 'The engine is currently overloaded, please try again later.', { type: 'server_error' }),
  status: ({ status, message, code }) =>
    answer(status, message, { type: status >= 500 ? 'server_error' : 'invalid_request_error', code: code ?? null }),
  'content-filter': () => undefined,
  refusal: () => undefined,
  malformed: () => undefined,
};

function rateLimit(retryAfterS: number | undefined): HttpAnswer {
  const body = openaiError('Rate limit reached for requests per minute. Please try again later.', {
    type: 'requests',
    code: 'rate_limit_exceeded',
  });
  if (retryAfterS === undefined) return { status: 429, body };
  return { status: 429, headers: { 'retry-after': String(retryAfterS) }, body };
}

function answer(status: number, text: string, fields: ErrorFields = {}): HttpAnswer {
  return { status, body: openaiError(text, fields) };
}

/** What is in the stream after its first event when it cannot be continued. */
export function openaiStreamError(problem: Problem): string[] {
  if (problem.kind === 'malformed') return ['data: {"id":"chatcmpl-cut","object":"chat.completion.chunk","choi\n\n'];
  const text = problem.kind === 'status' ? problem.message : SERVER_ERROR;
  return [`data: ${JSON.stringify(openaiError(text, { type: 'server_error' }))}\n\n`];
}

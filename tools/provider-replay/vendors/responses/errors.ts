import { jsonType, type ShapeIssue } from '../../chat/shape.js';
import type { Problem, ProblemAnswers } from '../../framework/problem.js';
import { Refusal } from '../../framework/refusal.js';
import type { HttpAnswer } from '../../framework/vendor.js';

interface ErrorFields {
  type?: string;
  param?: string | null;
  code?: string | null;
  status?: number;
}

/** An error in OpenAI's shape. */
export function errorAnswer(message: string, fields: ErrorFields = {}): HttpAnswer {
  const { type = 'invalid_request_error', param = null, code = null, status = 400 } = fields;
  return { status, body: { error: { message, type, param, code } } };
}

/** A request that breaks a rule. */
export const invalid = (rule: string, message: string, fields: ErrorFields = {}): Refusal =>
  new Refusal(rule, errorAnswer(message, fields));

/** Parameters of chat completions, and where they are here. */
const MOVED: Readonly<Record<string, string>> = {
  messages: 'input',
  response_format: 'text.format',
  reasoning_effort: 'reasoning.effort',
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
};

function movedRefusal(path: string): Refusal | undefined {
  const moved = Object.hasOwn(MOVED, path) ? MOVED[path] : undefined;
  if (moved === undefined) return undefined;
  const hint = `In the Responses API, this parameter has moved to '${moved}'. Try again with the new parameter.`;
  return invalid('moved field', `Unsupported parameter: '${path}'. ${hint}`, {
    param: path,
    code: 'unsupported_parameter',
  });
}

/** The refusal of a body whose fields have not the right shapes. */
export function shapeRefusal(issue: ShapeIssue): Refusal {
  const { fault, path, value, message, limit = 0 } = issue;
  const param = path === '' ? null : path;
  const moved = fault === 'unknown' ? movedRefusal(path) : undefined;
  if (moved !== undefined) return moved;
  switch (fault) {
    case 'unknown':
      return invalid('unknown field', `Unknown parameter: '${path}'.`, { param, code: 'unknown_parameter' });
    case 'missing':
      return invalid('shape', `Missing required parameter: '${path}'.`, { param, code: 'missing_required_parameter' });
    case 'type':
      return invalid('shape', `Invalid type for '${path}': ${message}, but got ${jsonType(value)} instead.`, {
        param,
        code: 'invalid_type',
      });
    case 'pattern':
      return invalid('shape', `Invalid '${path}': '${String(value)}'. ${message}.`, { param, code: 'invalid_value' });
    case 'value':
      return invalid('shape', `Invalid value: '${String(value)}'. ${message}.`, { param, code: 'invalid_value' });
    case 'short':
    case 'long':
      return boundRefusal(fault, path, { value, limit });
  }
}

function boundRefusal(
  fault: 'short' | 'long',
  path: string,
  { value, limit }: { value: unknown; limit: number },
): Refusal {
  const [below, sign] = fault === 'short' ? ['below minimum', '>='] : ['above maximum', '<='];
  if (typeof value === 'number') {
    const message = `Invalid '${path}': integer ${below} value. Expected a value ${sign} ${limit}, but got ${value} instead.`;
    return invalid('bounds', message, {
      param: path,
      code: `integer_${fault === 'short' ? 'below_min' : 'above_max'}_value`,
    });
  }
  const kind = typeof value === 'string' ? 'string' : 'array';
  const length = typeof value === 'string' || Array.isArray(value) ? value.length : 0;
  const bound = fault === 'short' ? 'minimum' : 'maximum';
  return invalid(
    'bounds',
    `Invalid '${path}': ${kind} too ${fault}. Expected ${bound} length ${limit}, but got length ${length} instead.`,
    { param: path, code: `${kind}_${fault === 'short' ? 'below_min' : 'above_max'}_length` },
  );
}

/** The answers to problems before anything is streamed; absent for what an answer reports itself. */
export const responsesProblems: ProblemAnswers<HttpAnswer | undefined> = {
  'unreadable-body': () => errorAnswer('We could not parse the JSON body of your request.'),
  'unknown-path': ({ method, path }) => errorAnswer(`Invalid URL (${method} ${path})`, { status: 404 }),
  'wrong-key': () => errorAnswer('Incorrect API key provided.', { status: 401, code: 'invalid_api_key' }),
  'model-gone': ({ model }) =>
    errorAnswer(`The model '${model}' does not exist or you do not have access to it.`, {
      status: 404,
      code: 'model_not_found',
    }),
  'context-overflow': () =>
    errorAnswer('Your input exceeds the context window of this model. Please adjust your input and try again.', {
      param: 'input',
      code: 'context_length_exceeded',
    }),
  'rate-limit': ({ retryAfterS }) => ({
    ...errorAnswer(RATE_LIMIT, { status: 429, type: 'tokens', code: 'rate_limit_exceeded' }),
    headers: retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) },
  }),
  quota: () =>
    errorAnswer('You exceeded your current quota, please check your plan and billing details.', {
      status: 429,
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    }),
  overload: () =>
    errorAnswer('The engine is currently overloaded, please try again later.', { status: 503, type: 'server_error' }),
  status: ({ status, message, code }) =>
    errorAnswer(message, {
      status,
      type: status >= 500 ? 'server_error' : 'invalid_request_error',
      code: code ?? null,
    }),
  'content-filter': () => undefined,
  refusal: () => undefined,
  malformed: () => undefined,
};

const RATE_LIMIT = 'Rate limit reached for this model on tokens per min. Please try again later.';

/** An error that comes after the answer has begun. `failed`: the response ends as failed; otherwise by an event `error`. */
export function streamError(problem: Problem): { failed: boolean; code: string; message: string } {
  if (problem.kind === 'rate-limit') return { failed: true, code: 'rate_limit_exceeded', message: RATE_LIMIT };
  if (problem.kind === 'status')
    return { failed: false, code: problem.code ?? 'server_error', message: problem.message };
  return {
    failed: true,
    code: 'server_error',
    message: 'An error occurred while processing your request. You can retry your request.',
  };
}

import { dataEvent } from '../../chat/chunk-renderer.js';
import type { ShapeIssue } from '../../chat/shape.js';
import type { Problem, ProblemAnswers } from '../../framework/problem.js';
import { Refusal } from '../../framework/refusal.js';
import type { HttpAnswer } from '../../framework/vendor.js';

function answer(status: number, message: unknown, type: string, code: string | null = null): HttpAnswer {
  return { status, body: { object: 'error', message, type, param: null, code } };
}

/** A rule about the order of messages, or about a call. */
export function refuse(rule: string, message: string, type: string, code: string): Refusal {
  return new Refusal(rule, answer(400, message, type, code));
}

export const orderRefusal = (message: string): Refusal =>
  refuse('order of messages', message, 'invalid_request_message_order', '3230');

/** Mistral's validation is pydantic's: the place has the role of a message in it, and an unknown field is forbidden. */
export function shapeRefusal({ fault, keys, message, value }: ShapeIssue, body: unknown): Refusal {
  const loc = ['body', ...keys.flatMap((key, at) => (isMessageIndex(keys, at) ? [key, roleAt(body, key)] : [key]))];
  const [type, msg] =
    fault === 'unknown'
      ? ['extra_forbidden', 'Extra inputs are not permitted']
      : fault === 'missing'
        ? ['missing', 'Field required']
        : ['value_error', message];
  const detail = [{ type, loc, msg, input: value ?? null }];
  return new Refusal(fault === 'unknown' ? 'unknown field' : 'shape', answer(422, { detail }, 'invalid_request_error'));
}

const isMessageIndex = (keys: readonly PropertyKey[], at: number): boolean => at === 1 && keys[0] === 'messages';

function roleAt(body: unknown, index: PropertyKey): unknown {
  const messages: unknown = Reflect.get(Object(body), 'messages');
  return Reflect.get(Object(Reflect.get(Object(messages), index)), 'role');
}

export const mistralProblems: ProblemAnswers<HttpAnswer | undefined> = {
  'unreadable-body': ({ message }) =>
    answer(
      422,
      {
        detail: [
          { type: 'json_invalid', loc: ['body', 0], msg: 'JSON decode error', input: {}, ctx: { error: message } },
        ],
      },
      'invalid_request_error',
    ),
  'unknown-path': () => ({ status: 404, body: { message: 'no Route matched with those values' } }),
  'wrong-key': () => ({ status: 401, body: { detail: 'Unauthorized' } }),
  'model-gone': ({ model }) => answer(400, `Invalid model: ${model}`, 'invalid_model', '1500'),
  'context-overflow': ({ tokens, limit }) =>
    answer(
      400,
      `Prompt contains ${tokens} tokens and 0 draft tokens, too large for model with ${limit} maximum context length`,
      'invalid_request_prompt',
      '3051',
    ),
  'rate-limit': ({ retryAfterS }) => ({
    ...answer(429, 'Rate limit exceeded', 'rate_limited', '1300'),
    ...(retryAfterS === undefined ? {} : { headers: { 'retry-after': String(retryAfterS) } }),
  }),
  quota: () => answer(402, 'Payment required: check your plan and billing details.', 'payment_required', '2101'),
  overload: () => answer(503, 'Service unavailable.', 'unreachable_backend', '1100'),
  status: ({ status, message }) =>
    answer(status, message, status >= 500 ? 'internal_server_error' : 'invalid_request_error', '1000'),
  'content-filter': () => answer(403, 'Request blocked by the guardrails.', 'moderation_blocked', '2200'),
  refusal: () => undefined,
  malformed: () => undefined,
};

/** A failure in the stream is a finish reason; other errors are the body that they have without a stream. */
export function mistralStreamError(problem: Problem): string[] {
  if (problem.kind === 'malformed') {
    return ['data: {"id":"cut","object":"chat.completion.chunk","choices":[{"index":0,"del\n\n'];
  }
  if (problem.kind === 'status') {
    return [dataEvent(answer(problem.status, problem.message, 'internal_server_error', '1000').body)];
  }
  const choices = [{ index: 0, delta: { content: '' }, finish_reason: 'error' }];
  return [dataEvent({ id: 'cut', object: 'chat.completion.chunk', choices }), 'data: [DONE]\n\n'];
}

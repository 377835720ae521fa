import { dataEvent } from '../../chat/chunk-renderer.js';
import type { PairingFault } from '../../chat/pairing.js';
import type { ShapeIssue } from '../../chat/shape.js';
import type { Problem, ProblemAnswers } from '../../framework/problem.js';
import { Refusal } from '../../framework/refusal.js';
import type { HttpAnswer } from '../../framework/vendor.js';

function answer(status: number, message: string, metadata?: object): HttpAnswer {
  const error = { message, code: status, ...(metadata === undefined ? {} : { metadata }) };
  return { status, body: { error, user_id: 'user_replay' } };
}

export function refuse(rule: string, message: string): Refusal {
  return new Refusal(rule, answer(400, message));
}

export function shapeRefusal({ path, message, fault }: ShapeIssue): Refusal {
  return refuse('shape', `${path}: ${fault === 'missing' ? 'Required' : message}`);
}

/** A refusal of the provider behind OpenRouter, whose body is a text in the metadata. */
export function providerRefusal(rule: string, provider: string, raw: object): Refusal {
  const metadata = { raw: JSON.stringify(raw), provider_name: provider };
  return new Refusal(rule, answer(400, 'Provider returned error', metadata));
}

export function pairingRefusal(fault: PairingFault): Refusal {
  const message =
    fault.fault === 'orphan' ? 'No tool call found for a tool message' : 'Tool calls without a tool message';
  return providerRefusal('tool results', 'OpenAI', { error: { message, type: 'invalid_request_error' } });
}

export const openrouterProblems: ProblemAnswers<HttpAnswer | undefined> = {
  'unreadable-body': () => answer(400, 'Invalid JSON in request body'),
  'unknown-path': () => answer(404, 'Not Found'),
  'wrong-key': () => answer(401, 'User not found.'),
  'model-gone': ({ model }) => answer(400, `${model} is not a valid model ID`),
  'context-overflow': ({ tokens, limit }) =>
    answer(
      400,
      `This endpoint's maximum context length is ${limit} tokens. However, you requested about ${tokens} tokens. Please reduce the length of either one, or use the context-compression plugin to compress your prompt automatically.`,
    ),
  'rate-limit': ({ retryAfterS }) => ({
    ...answer(429, 'Provider returned error', {
      raw: 'the model is temporarily rate-limited upstream. Please retry shortly',
      provider_name: 'Chutes',
    }),
    ...(retryAfterS === undefined ? {} : { headers: { 'retry-after': String(retryAfterS) } }),
  }),
  quota: () => answer(402, 'This request requires more credits, or fewer max_tokens.'),
  'content-filter': () =>
    answer(403, 'Your chosen model requires moderation and your input was flagged', {
      reasons: ['violence'],
      flagged_input: '…',
      provider_name: 'OpenAI',
      model_slug: 'gpt-4o',
    }),
  status: ({ status, message }) => answer(status, message),
  // Comments have been sent before the provider answers, so its failure is in the stream.
  overload: () => undefined,
  refusal: () => undefined,
  malformed: () => undefined,
};

/** The failure of a provider: a chunk with HTTP 200 that has `error` at its top and the finish reason `error`. */
export function openrouterStreamError(problem: Problem, envelope: object): string[] {
  if (problem.kind === 'malformed') return ['data: {"id":"gen-cut","provider":"OpenAI","choi\n\n'];
  const error =
    problem.kind === 'status'
      ? { code: problem.status, message: problem.message }
      : { code: 502, message: 'Provider disconnected unexpectedly', metadata: { error_type: 'provider_overloaded' } };
  const choices = [{ index: 0, delta: { content: '' }, finish_reason: 'error', native_finish_reason: null }];
  return [dataEvent({ ...envelope, object: 'chat.completion.chunk', error, choices })];
}

import type { PairingFault } from '../../chat/pairing.js';
import type { ShapeIssue } from '../../chat/shape.js';
import type { Problem, ProblemAnswers } from '../../framework/problem.js';
import { Refusal } from '../../framework/refusal.js';
import type { HttpAnswer } from '../../framework/vendor.js';

/** The error body of Gemini's OpenAI endpoint: a list of one Google API error. */
function geminiError(code: number, status: string, message: string, details?: object[]): object[] {
  return [{ error: { code, message, status, ...(details === undefined ? {} : { details }) } }];
}

function answer(code: number, status: string, message: string, details?: object[]): HttpAnswer {
  return { status: code, body: geminiError(code, status, message, details) };
}

export function refuse(rule: string, message: string, details?: object[]): Refusal {
  return new Refusal(rule, answer(400, 'INVALID_ARGUMENT', message, details));
}

export function shapeRefusal(issue: ShapeIssue): Refusal {
  const { path, keys } = issue;
  const field = String(keys.at(-1) ?? '');
  const parent = path.slice(0, Math.max(0, path.length - field.length - 1));
  const where = keys.length > 1 ? ` at '${parent}'` : '';
  const description =
    issue.fault === 'unknown'
      ? `Invalid JSON payload received. Unknown name "${field}"${where}: Cannot find field.`
      : `Invalid value at '${path}': ${issue.message}`;
  const violation = { ...(where === '' ? {} : { field: parent }), description };
  const details = [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [violation] }];
  return refuse(issue.fault === 'unknown' ? 'unknown field' : 'shape', description, details);
}

export function pairingRefusal(fault: PairingFault): Refusal {
  const text =
    fault.fault === 'orphan'
      ? 'Please ensure that function response turn comes immediately after a function call turn.'
      : 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.';
  return refuse('tool results', text);
}

/** `position` is that of the call's content in the request, counted from 1. */
export function missingSignature(name: string, position: number): Refusal {
  return refuse(
    'thought signature missing',
    'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing ' +
      `thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${position}. ` +
      'Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.',
  );
}

export function badSignature(): Refusal {
  return refuse('thought signature altered, moved or forged', 'Corrupted thought signature.');
}

const MALFORMED = 'data: {"choices":[{"delta":{"content":"\n\n';

export const geminiProblems: ProblemAnswers<HttpAnswer | undefined> = {
  'unreadable-body': ({ message }) => answer(400, 'INVALID_ARGUMENT', `Invalid JSON payload received. ${message}`),
  'unknown-path': ({ path }) => answer(404, 'NOT_FOUND', `The requested URL ${path} was not found on this server.`),
  'wrong-key': () =>
    answer(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'googleapis.com' },
    ]),
  'model-gone': ({ model }) =>
    answer(
      404,
      'NOT_FOUND',
      `models/${model} is not found for API version v1main, or is not supported for generateContent.`,
    ),
  'context-overflow': ({ tokens, limit }) =>
    answer(
      400,
      'INVALID_ARGUMENT',
      `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${limit}).`,
    ),
  'rate-limit': ({ retryAfterS }) =>
    exhausted('You exceeded your current quota, please check your plan and billing details.', retryAfterS),
  quota: () =>
    exhausted('Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing.'),
  overload: () => answer(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'),
  status: ({ status, message }) => answer(status, status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT', message),
  'content-filter': () => undefined,
  refusal: () => undefined,
  malformed: () => undefined,
};

/** Google names the time to wait in the body, as RetryInfo; the header is there as well. */
function exhausted(message: string, retryAfterS?: number): HttpAnswer {
  if (retryAfterS === undefined) return answer(429, 'RESOURCE_EXHAUSTED', message);
  const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfterS}s` }];
  return {
    ...answer(429, 'RESOURCE_EXHAUSTED', message, details),
    headers: { 'retry-after': String(Math.ceil(retryAfterS)) },
  };
}

export function geminiStreamError(problem: Problem): string[] {
  if (problem.kind === 'malformed') return [MALFORMED];
  const [code, status, message] =
    problem.kind === 'status'
      ? ([problem.status, 'INTERNAL', problem.message] as const)
      : ([503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'] as const);
  return [`data: ${JSON.stringify(geminiError(code, status, message)[0])}\n\n`];
}

import type { Delta } from '../../../demo-model/reply.js';
import { chatVendor } from '../../chat/chat-vendor.js';
import type { ChunkStyle } from '../../chat/chunk-renderer.js';
import { wholeCalls } from '../../chat/collected-answer.js';
import type { ProblemAnswers } from '../../framework/problem.js';
import { Refusal } from '../../framework/refusal.js';
import type { HttpAnswer, VendorDefinition, VendorRequest } from '../../framework/vendor.js';
import { openaiStyle } from '../openai/openai.js';
import { openaiError, openaiProblems, shapeRefusal } from '../openai/openai-errors.js';
import { OpenaiChatRequest } from '../openai/openai-request.js';
import { checkOpenaiRules } from '../openai/openai-rules.js';

/** Amazon Bedrock's OpenAI-compatible chat completions, with OpenAI's open models. */
export const bedrock: VendorDefinition = {
  name: 'bedrock',
  open: () =>
    chatVendor({
      basePath: '/openai/v1',
      path: /^(\/openai)?\/v1\/chat\/completions$/,
      schema: OpenaiChatRequest,
      shapeRefusal,
      rules(body, request) {
        checkRoute(body, request);
        checkOpenaiRules(body);
      },
      style: bedrockStyle,
      problems: bedrockProblems,
    }),
};

function answer(status: number, code: string, message: string): HttpAnswer {
  const type = status >= 500 ? 'server_error' : 'invalid_request_error';
  return { status, body: openaiError(message, { type, code }) };
}

const bedrockProblems: ProblemAnswers<HttpAnswer | undefined> = {
  ...openaiProblems,
  'unknown-path': ({ path }) => answer(404, 'not_found', `The path ${path} is not supported.`),
  'wrong-key': () => answer(401, 'invalid_api_key', 'Invalid bearer token'),
  'model-gone': ({ model }) => answer(404, 'model_not_found', `The model '${model}' does not exist`),
  'rate-limit': ({ retryAfterS }) => ({
    ...answer(429, 'rate_limit_exceeded', 'Too many requests, please wait before trying again.'),
    ...(retryAfterS === undefined ? {} : { headers: { 'retry-after': String(retryAfterS) } }),
  }),
  quota: () => answer(429, 'rate_limit_exceeded', 'Too many tokens per day, please wait before trying again.'),
  overload: () => answer(503, 'service_unavailable', 'Bedrock is unable to process your request.'),
};

/** Open models are served below `/v1`, the others below `/openai/v1`, on the mantle endpoint; the runtime has one path for all. */
function checkRoute({ model }: OpenaiChatRequest, { path }: VendorRequest): void {
  if (path.startsWith('/openai/') || model.includes('gpt-oss')) return;
  throw new Refusal(
    'route of a model',
    answer(400, 'validation_error', `model \`${model}\` isn't supported on this route`),
  );
}

/** The reasoning of open models is in the content, between tags; in a stream each piece has tags of its own. */
function bedrockStyle(request: OpenaiChatRequest, responseId: string): ChunkStyle {
  const plain = openaiStyle(request, responseId);
  if (!request.model.includes('gpt-oss')) return plain;
  return {
    ...plain,
    headers: { 'x-amzn-requestid': responseId },
    first: { role: 'assistant', content: '' },
    deltas: bedrockDeltas,
    lastDelta: () => ({ content: null }),
    message: (answer) => ({
      content: (answer.thinking === '' ? '' : tagged(answer.thinking)) + answer.text,
      refusal: null,
      ...(answer.calls.length === 0 ? {} : { tool_calls: wholeCalls(answer) }),
    }),
  };
}

const tagged = (thinking: string): string => `<reasoning>${thinking}</reasoning>`;

function bedrockDeltas(delta: Delta): Record<string, unknown>[] {
  return 'reasoning_content' in delta ? [{ content: tagged(delta.reasoning_content) }] : [{ ...delta }];
}

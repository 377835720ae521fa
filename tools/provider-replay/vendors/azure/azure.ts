import { chatVendor } from '../../chat/chat-vendor.js';
import { type ChunkStyle, dataEvent } from '../../chat/chunk-renderer.js';
import { Refusal } from '../../framework/refusal.js';
import type { VendorDefinition, VendorRequest } from '../../framework/vendor.js';
import { openaiStyle } from '../openai/openai.js';
import { shapeRefusal } from '../openai/openai-errors.js';
import { OpenaiChatRequest } from '../openai/openai-request.js';
import { checkOpenaiRules } from '../openai/openai-rules.js';
import { azureProblems, badApiVersion, filterResults } from './azure-errors.js';

/** Azure OpenAI: its v1 API, and the older paths with a deployment and an `api-version`. */
export const azure: VendorDefinition = {
  name: 'azure',
  open: () =>
    chatVendor({
      basePath: '/openai/v1',
      path: /^\/openai\/(v1|deployments\/[^/]+)\/chat\/completions$/,
      schema: OpenaiChatRequest,
      shapeRefusal,
      rules(body, request) {
        checkApiVersion(request);
        checkOpenaiRules(body);
      },
      style: azureStyle,
      cache: { least: 1024, step: 128 },
      problems: azureProblems,
      authorized: (headers, apiKey) => headers['api-key'] === apiKey || headers.authorization === `Bearer ${apiKey}`,
    }),
};

/** A deployment's path needs the version of the API; v1 takes none, or `v1` and `preview`. */
function checkApiVersion({ path, query }: VendorRequest): void {
  const version = query.get('api-version');
  const valid = path.startsWith('/openai/v1/')
    ? version === null || version === 'v1' || version === 'preview'
    : /^20\d\d-\d\d-\d\d(-preview)?$/.test(version ?? '');
  if (!valid) throw new Refusal('api-version', badApiVersion);
}

/** The first chunk has no choices, but what the filter says of the prompt; an annotation later has a choice without a delta. */
function azureStyle(request: OpenaiChatRequest, responseId: string): ChunkStyle {
  const plain = openaiStyle(request, responseId);
  const empty = { id: '', object: '', created: 0, model: '' };
  return {
    ...plain,
    headers: { 'apim-request-id': responseId, 'x-ms-region': 'Sweden Central' },
    choice: { logprobs: null, content_filter_results: filterResults() },
    before: () => [
      dataEvent({
        ...empty,
        choices: [],
        prompt_filter_results: [{ prompt_index: 0, content_filter_results: filterResults() }],
      }),
    ],
    beforeLast: () => [
      dataEvent({
        ...empty,
        choices: [
          {
            index: 0,
            finish_reason: null,
            content_filter_offsets: { check_offset: 44, start_offset: 44, end_offset: 198 },
            content_filter_results: filterResults(),
          },
        ],
      }),
    ],
    lastChoice: ({ reason }) =>
      reason === 'content_filter'
        ? { content_filter_results: filterResults('violence') }
        : { content_filter_results: {} },
  };
}

import type { RunEventOf } from '@caribou/contracts';

/**
 * A delta as an AI message chunk, to be written as JSON, which omits what is undefined; clients concatenate chunks by `id`. As in LangGraph's JS version, `type` is "ai" and
 * `tool_calls` is empty, because clients compute it from `tool_call_chunks`. Only a delta with usage has the key
 * `usage_metadata`, because clients add up the numbers of all chunks.
 */
export function messageChunk(delta: RunEventOf<'message.delta'>): Readonly<Record<string, unknown>> {
  return {
    content: delta.content,
    tool_call_chunks: delta.tool_call_chunks ?? [],
    additional_kwargs: { reasoning_content: delta.reasoning },
    id: delta.message_id,
    response_metadata: delta.response_metadata ?? {},
    tool_calls: [],
    invalid_tool_calls: [],
    usage_metadata: delta.usage,
    type: 'ai',
  };
}

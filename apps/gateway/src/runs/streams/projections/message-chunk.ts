import { type RunEventOf, omitUndefined } from '@caribou/contracts';

/**
 * A delta as the AI message chunk clients concatenate by `id`. LangGraph's JS flavour: `type` is "ai", and
 * `tool_calls` stay empty as clients recompute them from `tool_call_chunks`. Only the delta that carries usage has
 * the key `usage_metadata`, since clients add the numbers of all chunks up.
 */
export function messageChunk(delta: RunEventOf<'message.delta'>): Readonly<Record<string, unknown>> {
  return {
    content: delta.content,
    tool_call_chunks: delta.tool_call_chunks ?? [],
    additional_kwargs: omitUndefined({ reasoning_content: delta.reasoning }),
    id: delta.message_id,
    response_metadata: delta.response_metadata ?? {},
    tool_calls: [],
    invalid_tool_calls: [],
    ...omitUndefined({ usage_metadata: delta.usage }),
    type: 'ai',
  };
}

import type { FeedMessage, FeedPageReply, ToolCall } from '@caribou/contracts';

type Shown = FeedMessage['content'];

const common = { additional_kwargs: {}, response_metadata: {} };

export const humanMessage = (id: string, content: string): Shown => ({ type: 'human', id, content, ...common });

export const aiMessage = (id: string, content: string, calls: ToolCall[] = []): Shown => ({
  type: 'ai',
  id,
  content,
  tool_calls: calls,
  invalid_tool_calls: [],
  ...common,
});

export const toolMessage = (callId: string, content: string): Shown => ({
  type: 'tool',
  id: `tool:${callId}`,
  tool_call_id: callId,
  name: 'bash',
  status: 'success',
  content,
  ...common,
});

/** A page of the feed whose messages have the numbers from `first` on; `next` is its `next_before_seq`. */
export const feedPage = (
  messages: readonly Shown[],
  { first = 1, next = null }: { readonly first?: number; readonly next?: number | null } = {},
): FeedPageReply => ({
  data: messages.map((content, index) => ({
    run_id: 'run-1',
    seq: first + index,
    content,
    metadata: { caller: 'lead_agent' },
    created_at: '2026-03-14T10:00:00Z',
    event_type:
      content.type === 'human' ? 'llm.human.input' : content.type === 'ai' ? 'llm.ai.response' : 'llm.tool.result',
    feedback: null,
  })),
  has_more: next !== null,
  next_before_seq: next,
});

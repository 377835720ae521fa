import type { FeedMessage, FeedPageReply, Message } from '@caribou/contracts';
import type { FeedPage, FeedRow } from '@caribou/state';

const eventTypes = {
  human: 'llm.human.input',
  system: 'llm.human.input',
  ai: 'llm.ai.response',
  tool: 'llm.tool.result',
} as const satisfies Record<Message['type'], FeedMessage['event_type']>;

/** The caller of all messages in a thread: the lead agent. Messages of subagents are in their tasks. */
const CALLER = 'lead_agent';

const toFeedMessage = ({ seq, runId, createdAt, message }: FeedRow): FeedMessage => ({
  run_id: runId,
  seq,
  content: message,
  metadata: { caller: CALLER },
  created_at: createdAt,
  event_type: eventTypes[message.type],
  feedback: null,
});

export const toFeedPageReply = ({ rows, nextBefore }: FeedPage): FeedPageReply => ({
  data: rows.map(toFeedMessage),
  has_more: nextBefore !== null,
  next_before_seq: nextBefore,
});

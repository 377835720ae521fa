import type { FeedMessage, FeedPageReply, Message } from '@caribou/contracts';
import type { Feedback, FeedPage, FeedRow } from '@caribou/state';

const eventTypes = {
  human: 'llm.human.input',
  system: 'llm.human.input',
  ai: 'llm.ai.response',
  tool: 'llm.tool.result',
} as const satisfies Record<Message['type'], FeedMessage['event_type']>;

/** The caller of all messages in a thread: the lead agent. Messages of subagents are in their tasks. */
const CALLER = 'lead_agent';

const toFeedMessage = (
  { seq, runId, createdAt, message }: FeedRow,
  feedback: ReadonlyMap<string, Feedback>,
): FeedMessage => ({
  run_id: runId,
  seq,
  content: message,
  metadata: { caller: CALLER },
  created_at: createdAt,
  event_type: eventTypes[message.type],
  feedback: shownFeedback(feedback.get(message.id)),
});

const shownFeedback = (feedback: Feedback | undefined): FeedMessage['feedback'] => {
  if (feedback === undefined) return null;
  const { feedback_id, rating, comment } = feedback;
  return { feedback_id, rating, comment };
};

/** @param feedback by the id of the message that shows it */
export const toFeedPageReply = (
  { rows, nextBefore }: FeedPage,
  feedback: ReadonlyMap<string, Feedback>,
): FeedPageReply => ({
  data: rows.map((row) => toFeedMessage(row, feedback)),
  has_more: nextBefore !== null,
  next_before_seq: nextBefore,
});

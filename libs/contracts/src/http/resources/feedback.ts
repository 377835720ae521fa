import { z } from 'zod';
import { RunId } from '../../common/ids.js';
import { route, Unsupported } from '../route.js';
import { ThreadPath } from '../threads/thread-path.js';

const group = 'Feedback';

const RunPath = ThreadPath.extend({ run_id: RunId });
const MAX_COMMENT_CHARS = 10_000;

const Rating = z.union([z.literal(1), z.literal(-1)], { error: 'must be 1 or -1' });
const Comment = z.string().max(MAX_COMMENT_CHARS).nullish();

export const FeedbackReply = z.object({
  feedback_id: z.string(),
  run_id: z.string(),
  thread_id: z.string(),
  user_id: z.string(),
  message_id: z.string().nullable().describe('null: on the run as a whole'),
  rating: Rating,
  comment: z.string().nullable(),
  created_at: z.string(),
});
export type FeedbackReply = z.infer<typeof FeedbackReply>;

const Stats = z.object({
  run_id: z.string(),
  total: z.number().int(),
  positive: z.number().int(),
  negative: z.number().int(),
});

const base = { group, path: '/threads/:thread_id/runs/:run_id/feedback', params: RunPath, refusals: [404] } as const;

const put = route({
  ...base,
  name: 'putFeedback',
  method: 'PUT',
  summary: 'Write or replace the feedback on a run as a whole.',
  body: z.object({ rating: Rating, comment: Comment }).catchall(Unsupported),
  reply: FeedbackReply,
  refusals: [404, 409],
});

const create = route({
  ...base,
  name: 'createFeedback',
  method: 'POST',
  summary: 'Add feedback on a run or one of its messages.',
  body: z
    .object({ rating: Rating, comment: Comment, message_id: z.string().min(1).max(255).nullish() })
    .catchall(Unsupported),
  reply: FeedbackReply,
  refusals: [404, 409],
});

const list = route({
  ...base,
  name: 'listFeedback',
  method: 'GET',
  summary: 'Feedback on a run, oldest first.',
  reply: z.array(FeedbackReply),
});

const stats = route({
  ...base,
  name: 'getFeedbackStats',
  method: 'GET',
  path: '/threads/:thread_id/runs/:run_id/feedback/stats',
  summary: 'How much feedback a run has.',
  reply: Stats,
});

const Removed = z.object({ success: z.literal(true) });

const removeOfRun = route({
  ...base,
  name: 'deleteFeedbackOfRun',
  method: 'DELETE',
  summary: 'Delete the feedback on a run as a whole.',
  reply: Removed,
});

const remove = route({
  ...base,
  name: 'deleteFeedback',
  method: 'DELETE',
  path: '/threads/:thread_id/runs/:run_id/feedback/:feedback_id',
  summary: 'Delete feedback.',
  params: RunPath.extend({ feedback_id: z.uuid() }),
  reply: Removed,
});

const listOfRun = route({
  ...base,
  name: 'listFeedbackOfRun',
  method: 'GET',
  path: '/runs/:run_id/feedback',
  summary: 'Feedback on a run on whatever thread.',
  params: z.object({ run_id: RunId }),
  reply: z.array(FeedbackReply),
});

export const feedbackRoutes = { put, create, list, stats, removeOfRun, remove, listOfRun };

import { z } from 'zod';
import { RunId } from '../../common/ids.js';
import { ShownMessage } from '../../records/messages.js';
import { queryInt, route } from '../route.js';
import { ThreadPath } from './threads.js';

const group = 'Messages';

const MAX_PAGE = 200;

const FeedQuery = z.object({
  limit: queryInt(50, 1, MAX_PAGE),
  before_seq: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER).optional().describe('Only older ones'),
});

/** A message as users see it, in DeerFlow's format. */
const FeedMessage = z.object({
  run_id: z.string().nullable().describe('The run that wrote it first; null: written by a client outside a run'),
  seq: z.number().int().min(1).describe('Increases with each message, never changes and is never reused'),
  content: ShownMessage,
  metadata: z.object({ caller: z.string() }),
  created_at: z.string(),
  event_type: z.enum(['llm.human.input', 'llm.ai.response', 'llm.tool.result']),
  feedback: z
    .object({ feedback_id: z.string(), rating: z.number().int(), comment: z.string().nullable() })
    .nullable()
    .describe('On the run as a whole, with its last answer in the page'),
});
export type FeedMessage = z.infer<typeof FeedMessage>;

const FeedPageReply = z.object({
  data: z.array(FeedMessage).describe('Oldest first; may be fewer than requested although there are more'),
  has_more: z.boolean(),
  next_before_seq: z.number().int().nullable().describe('before_seq of the next page; null exactly when there is none'),
});
export type FeedPageReply = z.infer<typeof FeedPageReply>;

const page = route({
  name: 'getMessagesPage',
  group,
  method: 'GET',
  path: '/threads/:thread_id/messages/page',
  summary:
    'What users see of a thread, newest page first. Summarized messages are included; those of runs that were rolled ' +
    'back or whose turn was regenerated are not.',
  params: ThreadPath,
  query: FeedQuery,
  reply: FeedPageReply,
  refusals: [404],
});

const list = route({
  name: 'listMessages',
  group,
  method: 'GET',
  path: '/threads/:thread_id/messages',
  summary: 'The same page as a bare list.',
  params: ThreadPath,
  query: FeedQuery,
  reply: z.array(FeedMessage),
  refusals: [404],
});

const ofRun = route({
  name: 'getMessagesOfRun',
  group,
  method: 'GET',
  path: '/threads/:thread_id/runs/:run_id/messages',
  summary: 'What users see of one run.',
  params: ThreadPath.extend({ run_id: RunId }),
  query: FeedQuery,
  reply: FeedPageReply,
  refusals: [404],
});

const ofRunAlone = route({
  ...ofRun,
  name: 'getMessagesOfRunById',
  path: '/runs/:run_id/messages',
  summary: 'What users see of one run, on whatever thread.',
  params: z.object({ run_id: RunId }),
});

export const messageRoutes = { page, list, ofRun, ofRunAlone };

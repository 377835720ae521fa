import { z } from 'zod';
import { UserId } from '../../common/ids.js';
import { queryInt, route } from '../route.js';

const group = 'Administration';

/** What was given up: a run, a task of a subagent, the extraction of a thread into memory, or the delivery of a webhook. */
export const DeadLetterTopic = z.enum(['run', 'task', 'memory', 'webhook']);
export type DeadLetterTopic = z.infer<typeof DeadLetterTopic>;

const LETTER_ID = /^(?:run|task|memory|webhook)(?:\.[A-Za-z0-9][A-Za-z0-9_-]{0,63}){2,3}$/;
const DeadLetterId = z.string().regex(LETTER_ID, 'must be the id of a dead letter');

const DeadLetterReply = z.object({
  id: DeadLetterId,
  kind: DeadLetterTopic,
  user_id: z.string(),
  thread_id: z.string(),
  run_id: z.string().nullable(),
  agent: z.string().nullable().describe('Whose memory it is about, for kind memory'),
  at: z.string().describe('When the work was given up'),
  reason: z.string(),
  excerpt: z.string().describe('What is recorded about it, cut at 2,000 characters'),
});
export type DeadLetterReply = z.infer<typeof DeadLetterReply>;

const DeadLettersReply = z.object({
  letters: z.array(DeadLetterReply).describe('Newest first'),
  next_cursor: z.string().nullable(),
  total: z.number().int().describe('Letters that match, on all pages'),
});
export type DeadLettersReply = z.infer<typeof DeadLettersReply>;

const list = route({
  name: 'listDeadLetters',
  group,
  method: 'GET',
  path: '/admin/dead-letters',
  role: 'administrator',
  summary: 'Work of all users that is not retried any more; the newest 1,000, and as many tasks of subagents.',
  query: z.strictObject({
    kind: DeadLetterTopic.optional(),
    user: UserId.optional(),
    limit: queryInt(50, 1, 200),
    cursor: z.string().max(300).optional().describe('next_cursor of the page before'),
  }),
  reply: DeadLettersReply,
});

const DeadLetterPath = z.object({ letter_id: DeadLetterId });

const DeadLetterReplayReply = z.object({
  kind: DeadLetterTopic,
  user_id: z.string(),
  thread_id: z.string(),
  run_id: z.string().nullable().describe('The new run, or the run whose end is delivered again'),
});
export type DeadLetterReplayReply = z.infer<typeof DeadLetterReplayReply>;

const replay = route({
  name: 'replayDeadLetter',
  group,
  method: 'POST',
  path: '/admin/dead-letters/:letter_id/replay',
  role: 'administrator',
  summary:
    'Do the work again: a run is admitted as a new run, a thread is queued for memory, a webhook is due. Then the letter is removed; a refused replay leaves it.',
  params: DeadLetterPath,
  reply: DeadLetterReplayReply,
  refusals: [404, 409, 413, 429],
});

const drop = route({
  name: 'dropDeadLetter',
  group,
  method: 'DELETE',
  path: '/admin/dead-letters/:letter_id',
  role: 'administrator',
  summary: 'Remove a dead letter without doing its work.',
  params: DeadLetterPath,
  status: 204,
  reply: 'empty',
  refusals: [404],
});

export const deadLetterRoutes = { list, replay, drop };

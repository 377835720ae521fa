import { z } from 'zod';
import { RunId, UserId } from '../../common/ids.js';
import { queryInt, route } from '../route.js';

const group = 'Administration';

const AdminWebhookEventReply = z.object({
  event_id: z.string().describe('Id of the run'),
  user_id: z.string(),
  thread_id: z.string(),
  host: z.string().describe('Of the receiver; the rest of its URL may hold a secret of the user'),
  status: z.string().describe('How the run ended'),
  ended_at: z.string(),
  attempts: z.number().int().describe('Attempts that failed'),
  error: z.string().nullable().describe('Why the last attempt failed'),
  next_attempt_at: z.string().describe('During an attempt: until when it may take'),
});
export type AdminWebhookEventReply = z.infer<typeof AdminWebhookEventReply>;

const AdminWebhookEventsReply = z.object({
  events: z.array(AdminWebhookEventReply).describe('Oldest first'),
  next_cursor: z.string().nullable(),
});
export type AdminWebhookEventsReply = z.infer<typeof AdminWebhookEventsReply>;

const list = route({
  name: 'listAllWebhookEvents',
  group,
  method: 'GET',
  path: '/admin/webhooks/events',
  role: 'administrator',
  summary:
    'Ends of runs of all users that wait for delivery. Those that were given up are dead letters of kind webhook.',
  query: z.strictObject({
    user: UserId.optional(),
    limit: queryInt(50, 1, 200),
    cursor: z.string().max(300).optional().describe('next_cursor of the page before'),
  }),
  reply: AdminWebhookEventsReply,
});

const retry = route({
  name: 'retryAnyWebhookEvent',
  group,
  method: 'POST',
  path: '/admin/webhooks/events/:user_id/:event_id/retry',
  role: 'administrator',
  summary: 'Make the next attempt of a waiting event due now.',
  params: z.object({ user_id: UserId, event_id: RunId }),
  status: 204,
  reply: 'empty',
  refusals: [404, 409],
});

export const adminWebhookRoutes = { list, retry };

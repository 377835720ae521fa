import { z } from 'zod';
import { route } from '../route.js';

const event = {
  event_id: z.string().describe('Id of the run'),
  url: z.string(),
  thread_id: z.string(),
  status: z.string().describe('How the run ended'),
  ended_at: z.string(),
  attempts: z.number().int().describe('Attempts that failed'),
};

export const WebhookEventsReply = z.object({
  waiting: z
    .array(z.object({ ...event, error: z.string().nullable(), next_attempt_at: z.string() }))
    .describe('At most 100, the next one first'),
  failed: z.array(z.object({ ...event, error: z.string(), failed_at: z.string() })).describe('Given up, newest first'),
});
export type WebhookEventsReply = z.infer<typeof WebhookEventsReply>;

const list = route({
  name: 'listWebhookEvents',
  group: 'Webhooks',
  method: 'GET',
  path: '/webhooks/events',
  summary: 'Ends of your runs that wait for delivery to their webhooks, and those that were given up.',
  reply: WebhookEventsReply,
});

export const webhookRoutes = { list };

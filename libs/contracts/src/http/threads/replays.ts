import { z } from 'zod';
import { HumanMessage, SystemMessage } from '../../records/messages.js';
import { route } from '../route.js';
import { ThreadPath } from './threads.js';

const group = 'Runs';

const MessageId = z.string().min(1).max(255);
const MAX_TEXT_CHARS = 1_000_000;

/**
 * The request body that starts a run which regenerates a turn: `POST /threads/{id}/runs/stream` accepts all but the
 * last field.
 */
const ReplayReply = z.object({
  input: z.object({
    messages: z.array(z.union([HumanMessage, SystemMessage])).describe('As they were sent originally'),
    title: z.string().optional().describe('The current title, as the checkpoint has an older one'),
  }),
  checkpoint: z.object({ checkpoint_ns: z.literal(''), checkpoint_id: z.string(), checkpoint_map: z.null() }),
  metadata: z.looseObject({
    regenerate_from_message_id: z.string(),
    regenerate_from_run_id: z.string().describe('Identifies the turn whose messages, and later ones, are hidden'),
    regenerate_checkpoint_id: z.string(),
  }),
  target_run_id: z.string(),
});
export type ReplayReply = z.infer<typeof ReplayReply>;

const EditReplayReply = ReplayReply.extend({
  replacement_human_message_id: z.string(),
  source_message_ids: z.array(z.string()).describe('Messages that the new turn replaces'),
});
export type EditReplayReply = z.infer<typeof EditReplayReply>;

const regenerate = route({
  name: 'prepareRegenerate',
  group,
  method: 'POST',
  path: '/threads/:thread_id/runs/regenerate/prepare',
  summary: 'Prepare the request for a run that gives another answer. Changes nothing.',
  params: ThreadPath,
  body: z.object({ message_id: MessageId.describe('An answer that users see') }),
  reply: ReplayReply,
  refusals: [404, 409],
});

const edit = route({
  name: 'prepareEditRegenerate',
  group,
  method: 'POST',
  path: '/threads/:thread_id/runs/edit-regenerate/prepare',
  summary: 'Prepare the request for a run that answers an edited message of the user. Changes nothing.',
  params: ThreadPath,
  body: z.object({
    human_message_id: MessageId,
    replacement_text: z.string().trim().min(1).max(MAX_TEXT_CHARS),
  }),
  reply: EditReplayReply,
  refusals: [404, 409],
});

export const replayRoutes = { regenerate, edit };

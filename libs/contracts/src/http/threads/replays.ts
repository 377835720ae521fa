import { z } from 'zod';
import { HumanMessage, SystemMessage } from '../../records/messages.js';
import { route } from '../route.js';
import { ThreadPath } from './threads.js';

const group = 'Runs';

const MessageId = z.string().min(1).max(255);
const MAX_TEXT_CHARS = 1_000_000;

/** What a run is started with so that it makes a turn anew: `POST /threads/{id}/runs/stream` takes all but the last. */
const ReplayReply = z.object({
  input: z.object({
    messages: z.array(z.union([HumanMessage, SystemMessage])).describe('As they were sent first'),
    title: z.string().optional().describe('The title of now: the checkpoint has the one of then'),
  }),
  checkpoint: z.object({ checkpoint_ns: z.literal(''), checkpoint_id: z.string(), checkpoint_map: z.null() }),
  metadata: z.looseObject({
    regenerate_from_message_id: z.string(),
    regenerate_from_run_id: z.string().describe('By this the messages of that turn, and later ones, are hidden'),
    regenerate_checkpoint_id: z.string(),
  }),
  target_run_id: z.string(),
});
export type ReplayReply = z.infer<typeof ReplayReply>;

const EditReplayReply = ReplayReply.extend({
  replacement_human_message_id: z.string(),
  source_message_ids: z.array(z.string()).describe('Messages that the new turn takes the place of'),
});
export type EditReplayReply = z.infer<typeof EditReplayReply>;

const regenerate = route({
  name: 'prepareRegenerate',
  group,
  method: 'POST',
  path: '/threads/:thread_id/runs/regenerate/prepare',
  summary: 'What to start a run with so that it gives another answer. Changes nothing.',
  params: ThreadPath,
  body: z.object({ message_id: MessageId.describe('An answer that people see') }),
  reply: ReplayReply,
  refusals: [404, 409],
});

const edit = route({
  name: 'prepareEditRegenerate',
  group,
  method: 'POST',
  path: '/threads/:thread_id/runs/edit-regenerate/prepare',
  summary: "What to start a run with so that it answers other words in the place of a person's. Changes nothing.",
  params: ThreadPath,
  body: z.object({
    human_message_id: MessageId,
    replacement_text: z.string().trim().min(1).max(MAX_TEXT_CHARS),
  }),
  reply: EditReplayReply,
  refusals: [404, 409],
});

export const replayRoutes = { regenerate, edit };

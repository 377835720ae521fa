import { z } from 'zod';
import { route, Unsupported } from '../route.js';
import { ThreadPath } from '../threads/thread-path.js';

const MAX_NAME_CHARS = 200;

const Keep = z
  .discriminatedUnion('type', [
    z.object({ type: z.enum(['messages', 'tokens']), value: z.int().min(1).max(10_000_000) }),
    z.object({ type: z.literal('fraction'), value: z.number().gt(0).max(1) }),
  ])
  .describe('The newest part, which stays; default: summarization.keep of config.yaml');

const CompactReply = z.object({
  thread_id: z.string(),
  compacted: z.boolean(),
  reason: z.enum(['not_enough_messages', 'below_threshold']).nullable().describe('Why nothing was summarized'),
  removed_message_count: z.number().int(),
  preserved_message_count: z.number().int(),
  summary_updated: z.boolean(),
  checkpoint_id: z.string().nullable(),
  total_tokens: z.number().int().describe('Estimate for the conversation with its summary, after the request'),
});
export type CompactReply = z.infer<typeof CompactReply>;

const compact = route({
  name: 'compactThread',
  group: 'State',
  method: 'POST',
  path: '/threads/:thread_id/compact',
  summary: 'Replace the older part of the conversation by a summary now; 409 while a run is in flight.',
  params: ThreadPath,
  body: z.preprocess(
    (value) => value ?? {},
    z
      .object({
        force: z.boolean().nullish().describe('Default true; false: only when a trigger of config.yaml is reached'),
        keep: Keep.nullish(),
        model_name: z.string().max(MAX_NAME_CHARS).nullish(),
        agent_name: z.string().max(MAX_NAME_CHARS).nullish().describe('A custom agent, whose model summarizes'),
      })
      .catchall(Unsupported),
  ),
  reply: CompactReply,
  refusals: [404, 409, 429, 502],
});

export const compactionRoutes = { compact };

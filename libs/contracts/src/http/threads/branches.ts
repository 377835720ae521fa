import { z } from 'zod';
import { oneLine } from '../../common/one-line.js';
import { route } from '../route.js';
import { ThreadPath } from './threads.js';

/**
 * What happened to the thread's files: copied, skipped because they belong to a later turn, none found, or copying
 * failed.
 */
export const CloneMode = z.enum([
  'current_thread_best_effort',
  'historical_turn',
  'skipped_historical_turn',
  'not_found',
  'failed',
]);
export type CloneMode = z.infer<typeof CloneMode>;

const BranchReply = z.object({
  thread_id: z.string(),
  parent_thread_id: z.string(),
  parent_checkpoint_id: z.string(),
  branched_from_message_id: z.string(),
  workspace_clone_mode: CloneMode,
  history_seed_mode: z.literal('seeded').describe('The messages were copied'),
});
export type BranchReply = z.infer<typeof BranchReply>;

const create = route({
  name: 'branchThread',
  group: 'Threads',
  method: 'POST',
  path: '/threads/:thread_id/branches',
  summary: 'A new thread that continues from the end of one turn of this one; with its files when it is the last turn.',
  params: ThreadPath,
  body: z.object({
    message_id: z.string().min(1).max(255).describe('An answer of the turn'),
    message_ids: z.array(z.string().max(255)).max(1_000).nullish().describe('All answers of the turn; not needed'),
    title: z.string().max(256).transform(oneLine).nullish(),
  }),
  reply: BranchReply,
  refusals: [404, 409],
});

export const branchRoutes = { create };

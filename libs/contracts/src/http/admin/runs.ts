import { z } from 'zod';
import { RunId, ThreadId, UserId } from '../../common/ids.js';
import { CancelAction } from '../../records/runs.js';
import { queryInt, route } from '../route.js';

const group = 'Administration';

const AdminRunReply = z.object({
  run_id: z.string(),
  thread_id: z.string(),
  user_id: z.string(),
  assistant_id: z.string(),
  status: z.enum(['pending', 'running']),
  created_at: z.string(),
  started_at: z.string().nullable().describe('When it was claimed for the first time'),
  attempt: z.number().int().describe('How often it was claimed'),
  owner: z.string().nullable().describe('The process that executes it; null: none does'),
  is_cancelled: z.boolean().describe('It was asked to stop and has not ended yet'),
});
export type AdminRunReply = z.infer<typeof AdminRunReply>;

const AdminRunsReply = z.object({
  runs: z.array(AdminRunReply).describe('By the time since when their thread has work, oldest first'),
  next_cursor: z
    .string()
    .nullable()
    .describe('A page may have fewer runs than its limit and be followed by another one'),
});
export type AdminRunsReply = z.infer<typeof AdminRunsReply>;

const list = route({
  name: 'listAllRuns',
  group,
  method: 'GET',
  path: '/admin/runs',
  role: 'administrator',
  summary: 'Runs of all users that wait or are under way. Runs that have ended are listed by thread only.',
  query: z.strictObject({
    status: z.enum(['pending', 'running']).optional(),
    user: UserId.optional(),
    limit: queryInt(50, 1, 200),
    cursor: z.string().max(300).optional().describe('next_cursor of the page before'),
  }),
  reply: AdminRunsReply,
});

const cancel = route({
  name: 'cancelAnyRun',
  group,
  method: 'POST',
  path: '/admin/runs/cancel',
  role: 'administrator',
  summary: 'Stop a run of any user. A run that has ended does not change.',
  body: z.strictObject({
    user_id: UserId,
    thread_id: ThreadId,
    run_id: RunId,
    action: CancelAction.default('interrupt'),
  }),
  reply: z.object({
    run_id: z.string(),
    status: z.string().describe('Before the run has stopped, if it is under way'),
  }),
  refusals: [404],
});

export const adminRunRoutes = { list, cancel };

import { z } from 'zod';
import { UserId } from '../../common/ids.js';
import { queryInt, route } from '../route.js';

const group = 'Administration';

const CronPath = z.object({ user_id: UserId, cron_id: UserId });

const AdminCronReply = z.object({
  cron_id: z.string(),
  user_id: z.string(),
  kind: z.enum(['cron', 'scheduled_task']),
  title: z.string().nullable(),
  schedule: z.string(),
  timezone: z.string().nullable(),
  thread_id: z.string().nullable().describe('null: each run gets a thread of its own'),
  enabled: z.boolean(),
  due_at: z.string().nullable().describe('null: paused, or over'),
  retries: z.number().int().describe('How often the start of the due time was put off'),
  started: z.number().int(),
  missed: z.number().int().describe('Due times that started no run'),
  last_at: z.string().nullable(),
  last_run_id: z.string().nullable(),
  last_thread_id: z.string().nullable(),
  last_error: z.string().nullable().describe('Why the last due time started no run, or was put off'),
});
export type AdminCronReply = z.infer<typeof AdminCronReply>;

const AdminCronsReply = z.object({
  crons: z.array(AdminCronReply),
  next_cursor: z.string().nullable(),
  unreadable: z.number().int().describe('Crons of this page whose record cannot be read; they are left out'),
});
export type AdminCronsReply = z.infer<typeof AdminCronsReply>;

const list = route({
  name: 'listAllCrons',
  group,
  method: 'GET',
  path: '/admin/crons',
  role: 'administrator',
  summary:
    'Crons and scheduled tasks of all users that have a due time, the next one first; with `user` all of that user, also paused ones.',
  query: z.strictObject({
    user: UserId.optional(),
    limit: queryInt(50, 1, 200),
    cursor: z.string().max(300).optional().describe('next_cursor of the page before'),
  }),
  reply: AdminCronsReply,
});

const pause = route({
  name: 'pauseAnyCron',
  group,
  method: 'POST',
  path: '/admin/crons/:user_id/:cron_id/pause',
  role: 'administrator',
  summary: 'Pause a cron or a scheduled task of any user. Runs that it has started continue.',
  params: CronPath,
  reply: AdminCronReply,
  refusals: [404, 409],
});

const remove = route({
  name: 'deleteAnyCron',
  group,
  method: 'DELETE',
  path: '/admin/crons/:user_id/:cron_id',
  role: 'administrator',
  summary: 'Delete a cron or a scheduled task of any user. Runs that it has started continue.',
  params: CronPath,
  status: 204,
  reply: 'empty',
  refusals: [404],
});

export const adminCronRoutes = { list, pause, remove };

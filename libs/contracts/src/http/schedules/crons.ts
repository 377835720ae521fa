import { z } from 'zod';
import { ThreadId } from '../../common/ids.js';
import { ClientMetadata, FreeJson, route, Unsupported } from '../route.js';
import { RunFields } from '../threads/run-create.js';
import { ThreadPath } from '../threads/threads.js';

const group = 'Crons';
const MAX_EXPRESSION_CHARS = 200;
const MAX_ZONE_CHARS = 100;

/** A time of a client; without an offset it counts as UTC. */
const DateTime = z.iso.datetime({ offset: true, local: true });

/** The fields of a run that a cron repeats. */
const RepeatedFields = RunFields.omit({
  command: true,
  if_not_exists: true,
  on_completion: true,
  checkpoint: true,
  checkpoint_id: true,
  after_seconds: true,
  target_run_id: true,
  replacement_human_message_id: true,
  source_message_ids: true,
});

const Schedule = z
  .string()
  .min(1)
  .max(MAX_EXPRESSION_CHARS)
  .describe(
    'Cron expression of five fields, or six with the seconds last; @hourly, @daily, @weekly, @monthly, @yearly',
  );

const timing = {
  timezone: z.string().max(MAX_ZONE_CHARS).nullish().describe('IANA name such as Europe/Berlin; default UTC'),
  end_time: DateTime.nullish().describe('The cron has no due time after it'),
  enabled: z.boolean().nullish(),
  on_run_completed: z
    .enum(['delete', 'keep'])
    .nullish()
    .describe('What becomes of a thread that the cron made for a run; default delete'),
  metadata: ClientMetadata.nullish(),
};

export const CronCreate = RepeatedFields.extend({ schedule: Schedule, ...timing }).catchall(Unsupported);
export type CronCreate = z.output<typeof CronCreate>;

export const CronUpdate = RepeatedFields.partial()
  .extend({ schedule: Schedule.nullish(), ...timing })
  .catchall(Unsupported);
export type CronUpdate = z.output<typeof CronUpdate>;

export const CronReply = z.object({
  cron_id: z.string(),
  assistant_id: z.string(),
  thread_id: z.string().nullable(),
  on_run_completed: z.enum(['delete', 'keep']),
  end_time: z.string().nullable(),
  schedule: z.string(),
  timezone: z.string().nullable(),
  created_at: z.string(),
  updated_at: z.string(),
  user_id: z.string(),
  payload: FreeJson,
  next_run_date: z.string().nullable().describe('null: disabled, or past its end'),
  metadata: FreeJson,
  enabled: z.boolean(),
  last_error: z.string().nullable().describe('Why the last due time started no run'),
});
export type CronReply = z.infer<typeof CronReply>;

const CronFilter = z.object({
  assistant_id: z.string().max(200).nullish(),
  thread_id: ThreadId.nullish(),
  enabled: z.boolean().nullish(),
  metadata: FreeJson.nullish(),
});
export type CronFilter = z.output<typeof CronFilter>;

const SortBy = z.enum(['cron_id', 'assistant_id', 'thread_id', 'created_at', 'updated_at', 'next_run_date']);

const CronSearch = CronFilter.extend({
  limit: z.number().int().min(1).max(1_000).default(10),
  offset: z.number().int().min(0).max(1_000_000).default(0),
  sort_by: SortBy.nullish(),
  sort_order: z.enum(['asc', 'desc']).nullish(),
  select: z
    .array(z.enum([...CronReply.keyof().options, 'now']))
    .max(50)
    .nullish()
    .describe('Fields of the answer; now is the time of the server'),
});

const refusals = [404, 409, 413, 429];

const create = route({
  name: 'createCron',
  group,
  method: 'POST',
  path: '/runs/crons',
  summary: 'Start runs at set times, each on a thread of its own.',
  body: CronCreate,
  reply: CronReply,
  refusals,
});

const createForThread = route({
  name: 'createThreadCron',
  group,
  method: 'POST',
  path: '/threads/:thread_id/runs/crons',
  summary: 'Start runs on a thread at set times.',
  params: ThreadPath,
  body: CronCreate,
  reply: CronReply,
  refusals,
});

const search = route({
  name: 'searchCrons',
  group,
  method: 'POST',
  path: '/runs/crons/search',
  summary: 'List your crons, the newest first.',
  body: z.preprocess((value) => value ?? {}, CronSearch),
  reply: z.array(CronReply.extend({ now: z.string() }).partial()),
});

const count = route({
  name: 'countCrons',
  group,
  method: 'POST',
  path: '/runs/crons/count',
  summary: 'Count your crons.',
  body: z.preprocess((value) => value ?? {}, CronFilter),
  reply: z.number().int(),
});

const CronPath = z.object({ cron_id: z.uuid() });

const update = route({
  name: 'updateCron',
  group,
  method: 'PATCH',
  path: '/runs/crons/:cron_id',
  summary:
    'Change a cron. Fields that are left out stay; end_time null removes the end. Due times before the change are not made up for.',
  params: CronPath,
  body: CronUpdate,
  reply: CronReply,
  refusals,
});

const remove = route({
  name: 'deleteCron',
  group,
  method: 'DELETE',
  path: '/runs/crons/:cron_id',
  summary: 'Delete a cron. Runs that it has started continue.',
  params: CronPath,
  status: 204,
  reply: 'empty',
  refusals: [404],
});

export const cronRoutes = { create, createForThread, search, count, update, remove };

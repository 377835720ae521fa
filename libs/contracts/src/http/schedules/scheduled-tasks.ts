import { z } from 'zod';
import { UserId } from '../../common/ids.js';
import { queryInt, route } from '../route.js';
import { ThreadPath } from '../threads/threads.js';
import {
  ScheduledTaskCreate,
  ScheduledTaskRenewal,
  ScheduledTaskReply,
  ScheduledTaskRunReply,
  ScheduledTaskUpdate,
  ThreadTaskReply,
} from './scheduled-task-shapes.js';

/** Scheduled tasks as DeerFlow's page asks for them. */

const group = 'Scheduled tasks';

const TaskPath = z.object({ task_id: UserId.describe('Scheduled task id') });
const one = { group, path: '/scheduled-tasks/:task_id', params: TaskPath, reply: ScheduledTaskReply } as const;

const list = route({
  name: 'listScheduledTasks',
  group,
  method: 'GET',
  path: '/scheduled-tasks',
  summary: 'Your scheduled tasks, newest first.',
  reply: z.array(ScheduledTaskReply),
});

const listOfThread = route({
  name: 'listScheduledTasksOfThread',
  group,
  method: 'GET',
  path: '/threads/:thread_id/scheduled-tasks',
  summary: 'Scheduled tasks that run on a thread, or have made it.',
  params: ThreadPath,
  reply: z.array(ThreadTaskReply),
  refusals: [404],
});

const eventsOfThread = route({
  name: 'listScheduledTaskEventsOfThread',
  group,
  method: 'GET',
  path: '/threads/:thread_id/scheduled-task-events',
  summary: 'What became of tasks that a conversation has made: nothing, as conversations make none.',
  params: ThreadPath,
  reply: z.object({ events: z.array(z.unknown()).max(0) }),
  refusals: [404],
});

const create = route({
  name: 'createScheduledTask',
  group,
  method: 'POST',
  path: '/scheduled-tasks',
  summary: 'Let the agent do something at a time, or at set times.',
  body: ScheduledTaskCreate,
  reply: ScheduledTaskReply,
  refusals: [404, 429],
});

const get = route({ ...one, name: 'getScheduledTask', method: 'GET', summary: 'One scheduled task.', refusals: [404] });

const update = route({
  ...one,
  name: 'updateScheduledTask',
  method: 'PATCH',
  summary: 'Change a scheduled task.',
  body: ScheduledTaskUpdate,
  refusals: [404, 409],
});

const remove = route({
  ...one,
  name: 'deleteScheduledTask',
  method: 'DELETE',
  summary: 'Delete a scheduled task. Runs that it has started continue.',
  reply: z.object({ id: z.string(), deleted: z.literal(true) }),
  refusals: [404],
});

const pause = route({
  ...one,
  name: 'pauseScheduledTask',
  method: 'POST',
  path: '/scheduled-tasks/:task_id/pause',
  summary: 'Let a task have no due times until it is resumed.',
  refusals: [404, 409],
});

const resume = route({
  ...one,
  name: 'resumeScheduledTask',
  method: 'POST',
  path: '/scheduled-tasks/:task_id/resume',
  summary: 'Let a task that is paused or over have due times again; those of the pause are not made up for.',
  body: ScheduledTaskRenewal,
  refusals: [404, 409],
});

const trigger = route({
  ...one,
  name: 'triggerScheduledTask',
  method: 'POST',
  path: '/scheduled-tasks/:task_id/trigger',
  summary: 'Start a run of a task now; its schedule stays.',
  reply: z.object({
    id: z.string(),
    triggered: z.literal(true),
    outcome: z.literal('launched'),
    existing: z.literal(false),
    thread_id: z.string(),
  }),
  refusals: [404, 409, 429],
});

const runs = route({
  ...one,
  name: 'listScheduledTaskRuns',
  method: 'GET',
  path: '/scheduled-tasks/:task_id/runs',
  summary: 'The newest 200 due times and starts by hand of a task with their outcomes, newest first.',
  query: z.object({ limit: queryInt(50, 1, 200), offset: queryInt(0, 0, 1_000) }),
  reply: z.array(ScheduledTaskRunReply),
  refusals: [404],
});

export const scheduledTaskRoutes = {
  ...{ list, listOfThread, eventsOfThread, create, get, update, remove },
  ...{ pause, resume, trigger, runs },
};

import { z } from 'zod';
import { GoalState, MAX_OBJECTIVE_CHARS } from '../../records/goal.js';
import { route, Unsupported } from '../route.js';
import { ThreadPath } from '../threads/thread-path.js';

const group = 'State';
const path = '/threads/:thread_id/goal';
const MAX_CONTINUATIONS = 100;

const Objective = z
  .string()
  .trim()
  .min(1, 'must hold more than white space')
  .max(MAX_OBJECTIVE_CHARS)
  .regex(/^(?:[^\p{Cc}]|[\t\n\r])*$/u, 'must not hold control characters but tabs and line breaks')
  .describe('What is to be reached');

const GoalReply = z.object({ goal: GoalState.nullable().describe('Null: the thread has none') });
export type GoalReply = z.infer<typeof GoalReply>;

const get = route({
  name: 'getThreadGoal',
  group,
  method: 'GET',
  path,
  summary: 'The goal of a thread, with how often the agent continued for it and what the evaluator said last.',
  params: ThreadPath,
  reply: GoalReply,
  refusals: [404],
});

const set = route({
  name: 'setThreadGoal',
  group,
  method: 'PUT',
  path,
  summary:
    'Set the goal of a thread, in place of the one it has; a thread that does not exist is made. A run in flight pursues it from its next step on.',
  params: ThreadPath,
  body: z
    .object({
      objective: Objective,
      max_continuations: z
        .int()
        .min(0)
        .max(MAX_CONTINUATIONS)
        .nullish()
        .describe('How often the agent continues by itself; default and limit: goals.max_continuations of config.yaml'),
    })
    .catchall(Unsupported),
  reply: GoalReply,
  refusals: [409, 429],
});

const clear = route({
  name: 'clearThreadGoal',
  group,
  method: 'DELETE',
  path,
  summary: 'Remove the goal of a thread; a run in flight does not continue for it any more.',
  params: ThreadPath,
  reply: GoalReply,
  refusals: [404, 409],
});

export const goalRoutes = { get, set, clear };

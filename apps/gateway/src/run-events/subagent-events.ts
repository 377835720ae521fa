import {
  type AiMessage,
  type DelegatedTaskReply,
  type RunRecord,
  type SubagentStep,
  textOf,
  type ToolMessage,
} from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { FeedRow, TaskStore } from '@caribou/state';
import { resultOf, taskJson } from '../tasks/task-json.js';
import type { Happened } from './event-order.js';

export const SUBAGENT_TYPES = ['subagent.start', 'subagent.step', 'subagent.end'] as const;
type SubagentType = (typeof SUBAGENT_TYPES)[number];

/** Maximum characters of a text and of a call's arguments in an event. */
const MAX_CHARS = 8_192;

interface Wanted {
  readonly runId: string;
  readonly types: ReadonlySet<string>;
  readonly taskId: string | undefined;
}

/** What the subagents of a run did, by the records of their tasks, which are deleted some time after their end. */
export async function subagentEvents(
  store: Pick<TaskStore, 'tasksOf' | 'head' | 'steps'>,
  thread: ThreadKey,
  { runId, types, taskId }: Wanted,
): Promise<Happened[]> {
  const events: Happened[] = [];
  for (const run of await store.tasksOf(thread)) {
    const task = taskJson(run);
    if (task?.run_id !== runId || (taskId ?? task.task_id) !== task.task_id) continue;
    if (types.has('subagent.start')) events.push(startOf(task));
    if (types.has('subagent.step')) events.push(...stepsOf((await store.steps(run)) ?? [], task.task_id));
    if (types.has('subagent.end') && task.ended_at !== null)
      events.push(endOf(task, task.ended_at, await readResult(store, run)));
  }
  return events;
}

const readResult = async (store: Pick<TaskStore, 'head'>, run: RunRecord): Promise<string | null> =>
  resultOf(run, await store.head(run));

const eventOf = (
  type: SubagentType,
  taskId: string,
): Pick<Happened, 'source' | 'event_type' | 'category' | 'metadata'> => ({
  source: type,
  event_type: type,
  category: 'subagent',
  metadata: { task_id: taskId },
});

const startOf = ({ task_id: taskId, description, subagent_type, created_at }: DelegatedTaskReply): Happened => ({
  ...eventOf('subagent.start', taskId),
  content: { task_id: taskId, description, subagent_type },
  created_at,
});

function endOf(task: DelegatedTaskReply, endedAt: string, result: string | null): Happened {
  const { task_id: taskId, status, model_name, usage, error } = task;
  return {
    ...eventOf('subagent.end', taskId),
    content: {
      ...{ task_id: taskId, status, model_name, ...(usage === null ? {} : { usage }) },
      ...(result === null ? {} : { result: result.slice(0, MAX_CHARS), result_truncated: result.length > MAX_CHARS }),
      ...(error === null ? {} : { error: error.slice(0, MAX_CHARS), error_truncated: error.length > MAX_CHARS }),
    },
    created_at: endedAt,
  };
}

/** Answers of a subagent's model and results of its tools. */
function stepsOf(rows: readonly FeedRow[], taskId: string): Happened[] {
  const steps = rows.flatMap(({ createdAt, message }) =>
    message.type === 'ai' || message.type === 'tool' ? [{ createdAt, message }] : [],
  );
  return steps.map(({ createdAt, message }, index) => {
    const content: SubagentStep = { task_id: taskId, message_index: index + 1, ...contentOf(message) };
    return {
      ...eventOf('subagent.step', taskId),
      content,
      metadata: { task_id: taskId, message_index: index + 1 },
      created_at: createdAt,
    };
  });
}

function contentOf(message: AiMessage | ToolMessage): Omit<SubagentStep, 'task_id' | 'message_index'> {
  const text = textOf(message.content);
  const shown = { text: text.slice(0, MAX_CHARS), truncated: text.length > MAX_CHARS };
  if (message.type === 'tool')
    return { kind: 'tool', ...shown, tool_name: message.name, tool_call_id: message.tool_call_id };
  return { kind: 'ai', ...shown, tool_calls: message.tool_calls.map(callOf) };
}

function callOf({ name, args }: AiMessage['tool_calls'][number]) {
  const text = JSON.stringify(args);
  return text.length <= MAX_CHARS
    ? { name, args }
    : { name, args: text.slice(0, MAX_CHARS), args_truncated: true as const };
}

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { ApprovalRule } from '../settings/approval-rules.js';
import { AiMessage, ToolMessage } from './messages.js';
import { TokenCounts } from './token-counts.js';

/**
 * A task is work that an agent delegates to a subagent by one call of its tool `task`. It is a run on its own thread,
 * in a part of the store that contains only tasks; both ids are derived from the parent's run and the call, so that
 * repeated requests find the same task.
 */
export const TaskSpec = z.object({
  parent: z.object({ thread_id: z.string(), run_id: z.string(), tool_call_id: z.string() }),
  subagent_type: z.string(),
  description: z.string(),
  /** Names of the parent's tools; the subagent has no others. */
  tools: z.array(z.string()),
  /** Names of the parent's skills; absent: all enabled ones. */
  skills: z.array(z.string()).optional(),
  /** The agent's rules for calls that a person decides; absent: none. */
  approvals: z.array(ApprovalRule).optional(),
  /** Configured name. */
  model: z.string(),
  /** Of the parent's run; absent: as the model is configured. */
  temperature: z.number().optional(),
  /** Hash of the call's arguments: the same call with another hash is not the same task. */
  args_hash: z.string(),
  /** Set for a run that continues the task with a person's answers; the task's ids remain those of its first run. */
  continuation: z
    .object({
      run_id: z.string(),
      /** The run that waits for the task now. */
      parent_run_id: z.string(),
      /** Tokens of the task's earlier runs; null when none were reported. */
      spent: TokenCounts.nullable(),
    })
    .optional(),
});
export type TaskSpec = z.infer<typeof TaskSpec>;

/** Metadata key of a task's run that contains its spec. */
export const TASK_METADATA = 'task';

export interface TaskIds {
  readonly threadId: string;
  readonly runId: string;
}

/** The ids of the task that belongs to a tool call. */
export function taskIds(parentRunId: string, toolCallId: string): TaskIds {
  const of = (what: string) => uuidOf(JSON.stringify([what, parentRunId, toolCallId]));
  return { threadId: of('task.thread'), runId: of('task.run') };
}

/** The id of the run that continues a task with answers to these interrupts: the same after a takeover of its parent. */
export const continuationId = (taskRunId: string, interruptIds: readonly string[]): string =>
  uuidOf(JSON.stringify(['task.continuation', taskRunId, [...interruptIds].sort()]));

/** A UUID of version 8 that is derived from a text. */
export function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join('-');
}

/** Why a task ended early with its result so far. */
export const TaskCap = z.enum(['token_capped', 'turn_capped', 'loop_capped']);
export type TaskCap = z.infer<typeof TaskCap>;

/** How a task ended; `polling_timed_out`: the parent stopped waiting for a pool. */
export const TaskStatus = z.enum(['completed', 'failed', 'cancelled', 'timed_out', 'polling_timed_out']);
export type TaskStatus = z.infer<typeof TaskStatus>;

const about = { task_id: z.string().describe('Id of the tool call'), model_name: z.string().optional() };
const spent = { usage: TokenCounts.nullable() };

/** Events of a task for the watchers of the parent's run, as data of `custom` events in DeerFlow's format. */
export const TaskEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('task_started'), ...about, description: z.string() }),
  /** One per answer of the subagent's model and per tool result, when it is committed; `message_index` is 1-based. */
  z.object({
    type: z.literal('task_running'),
    ...about,
    message: z.discriminatedUnion('type', [AiMessage, ToolMessage]),
    message_index: z.int().min(1),
    total_messages: z.int().min(1),
    ...spent,
  }),
  z.object({ type: z.literal('task_completed'), ...about, result: z.string(), ...spent }),
  z.object({ type: z.literal('task_failed'), ...about, error: z.string(), ...spent }),
  /** The task exceeded its timeout; `error` is absent when the parent stopped waiting for a pool. */
  z.object({ type: z.literal('task_timed_out'), ...about, error: z.string().optional(), ...spent }),
  z.object({ type: z.literal('task_cancelled'), ...about, error: z.string(), ...spent }),
]);
export type TaskEvent = z.infer<typeof TaskEvent>;

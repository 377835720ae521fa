import { newId, type RunRecord, TASK_METADATA, taskIds, type TaskSpec } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { NewTask } from '@caribou/state';
import { human, thread } from './store-fixture.js';
import { sampleRun } from './sample-run.js';

export interface SampleTask {
  readonly parent?: ThreadKey;
  /** The id of the run that delegates it. */
  readonly runId?: string;
  readonly toolCallId?: string;
  readonly spec?: Partial<TaskSpec>;
  readonly maxTurns?: number;
  readonly timeoutMs?: number;
}

/** A task as an agent delegates it. */
export function sampleTask({
  parent = thread(),
  runId = newId(),
  toolCallId = 'call_1',
  spec = {},
  maxTurns = 30,
  timeoutMs = 900_000,
}: SampleTask = {}): NewTask {
  return {
    userId: parent.userId,
    spec: {
      parent: { thread_id: parent.threadId, run_id: runId, tool_call_id: toolCallId },
      subagent_type: 'bash',
      description: 'some work',
      tools: ['bash'],
      model: 'm',
      args_hash: 'h',
      ...spec,
    },
    prompt: human('Do it.', 'prompt-1'),
    maxTurns,
    timeoutMs,
  };
}

/** The key by which a task is found. */
export const callOfTask = ({ userId, spec }: NewTask) => ({
  userId,
  parentRunId: spec.parent.run_id,
  toolCallId: spec.parent.tool_call_id,
});

/** The record of a task that no pool has taken, with the changes of `over`. */
export function taskRecord(task: NewTask = sampleTask(), over: Partial<RunRecord> = {}): RunRecord {
  const { runId, threadId } = taskIds(task.spec.parent.run_id, task.spec.parent.tool_call_id);
  return sampleRun({
    run_id: runId,
    thread_id: threadId,
    assistant_id: task.spec.subagent_type,
    user_id: task.userId,
    metadata: { [TASK_METADATA]: task.spec },
    kwargs: {
      input: { messages: [task.prompt] },
      context: {},
      stream_mode: [],
      stream_subgraphs: false,
      on_disconnect: 'continue',
      temporary: true,
      recursion_limit: task.maxTurns,
      timeout_ms: task.timeoutMs,
    },
    created_at: '2026-01-05T00:00:00.000Z',
    updated_at: '2026-01-05T00:00:00.000Z',
    ...over,
  });
}

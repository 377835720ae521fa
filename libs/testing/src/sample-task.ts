import { newId, type TaskSpec } from '@caribou/contracts';
import type { NewTask, ThreadKey } from '@caribou/core';
import { human, thread } from './conformance/store-fixture.js';

export interface SampleTask {
  readonly parent?: ThreadKey;
  /** Of the run that hands it over. */
  readonly runId?: string;
  readonly toolCallId?: string;
  readonly spec?: Partial<TaskSpec>;
  readonly maxTurns?: number;
  readonly timeoutMs?: number;
}

/** A task as an agent hands it over. */
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
      ...{ subagent_type: 'bash', description: 'some work', tools: ['bash'], model: 'm', args_hash: 'h' },
      ...spec,
    },
    prompt: human('Do it.', 'prompt-1'),
    maxTurns,
    timeoutMs,
  };
}

/** What a task is found by. */
export const callOfTask = ({ userId, spec }: NewTask) => ({
  ...{ userId, parentRunId: spec.parent.run_id, toolCallId: spec.parent.tool_call_id },
});

import {
  type AiMessage,
  type CheckpointView,
  type InterruptRecord,
  type RunRecord,
  TASK_METADATA,
  TaskCap,
  type TaskEvent,
  TaskSpec,
  textOf,
  type TokenCounts,
  omitUndefined,
} from '@caribou/contracts';
import type { TaskOutcome } from '@caribou/core';

const NO_ANSWER = 'No response generated';

/** The outcome of a task whose record was removed while its parent waited for it. */
export const TASK_RECORD_MISSING: TaskOutcome = {
  status: 'failed',
  text: 'Task disappeared from background tasks',
  usage: null,
};

/** Derives how a task ended from its record and the last state of its thread. */
export function outcomeOf(run: RunRecord, head: CheckpointView | null): TaskOutcome {
  const spent = { usage: usageOf(run), ...modelOf(run) };
  const cap = capOf(run);
  if (run.status === 'success') {
    const text = lastAssistantText(head) ?? NO_ANSWER;
    return { status: 'completed', text, ...omitUndefined({ stopReason: cap }), ...spent };
  }
  // The loop's own notice that the turns are used up is not a result.
  const partial = lastAssistantText(head, run.error?.message);
  const failure = failureOf(run, cap);
  const partialResult = omitUndefined({ partial });
  if (cap !== undefined && partial !== undefined)
    return { status: 'completed', text: partial, stopReason: cap, ...spent };
  if (run.status === 'interrupted')
    return { status: 'cancelled', text: 'Task cancelled by user', ...partialResult, ...spent };
  if (run.status === 'timeout') return { status: 'timed_out', text: failure, ...partialResult, ...spent };
  return { status: 'failed', text: failure, ...(cap === undefined ? partialResult : { stopReason: cap }), ...spent };
}

/** The loop's own notice of a turn limit addresses the user, so the parent's model gets another text. */
function failureOf({ error, status, kwargs }: RunRecord, cap: TaskCap | undefined): string {
  if (cap === 'turn_capped') return `no result within ${kwargs.recursion_limit} model turns`;
  return error?.message ?? `the task ended as ${status}`;
}

/** The event that publishes the end of a task. */
export function endEventOf(taskId: string, { status, text, usage, modelName }: TaskOutcome): TaskEvent {
  const about = { task_id: taskId, usage, ...omitUndefined({ model_name: modelName }) };
  switch (status) {
    case 'completed':
      return { type: 'task_completed', result: text, ...about };
    case 'failed':
      return { type: 'task_failed', error: text, ...about };
    case 'timed_out':
      return { type: 'task_timed_out', error: text, ...about };
    case 'polling_timed_out':
      return { type: 'task_timed_out', ...about };
    case 'cancelled':
      return { type: 'task_cancelled', error: text, ...about };
  }
}

/** The task's spec as its record carries it; undefined when another version wrote it. */
export const taskSpecOf = (run: RunRecord): TaskSpec | undefined =>
  TaskSpec.safeParse(run.metadata[TASK_METADATA]).data;

/** The tokens of a task, with those of its earlier runs; null when none were reported. */
export function usageOf(run: RunRecord): TokenCounts | null {
  const before = taskSpecOf(run)?.continuation?.spent ?? { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
  const total_tokens = run.total_tokens + before.total_tokens;
  if (total_tokens === 0) return null;
  return {
    input_tokens: run.total_input_tokens + before.input_tokens,
    output_tokens: run.total_output_tokens + before.output_tokens,
    total_tokens,
  };
}

/** What a task waits for; nothing for one that is running, has ended or was cancelled. */
export const asksOf = (run: RunRecord, head: CheckpointView | null): readonly InterruptRecord[] =>
  run.status === 'interrupted' && run.cancel === null ? (head?.state.interrupts?.open ?? []) : [];

function modelOf(run: RunRecord): { readonly modelName?: string } {
  const spec = taskSpecOf(run);
  return spec === undefined ? {} : { modelName: spec.model };
}

function capOf({ stop_reason: reason }: RunRecord): TaskCap | undefined {
  return reason === 'recursion_limit' ? 'turn_capped' : TaskCap.safeParse(reason).data;
}

/** The agent's last text other than `notice`; undefined when it wrote none. */
function lastAssistantText(head: CheckpointView | null, notice?: string): string | undefined {
  const texts = (head?.state.messages ?? [])
    .filter((message): message is AiMessage => message.type === 'ai')
    .map(({ content }) => textOf(content).trim());
  return texts.findLast((text) => text !== '' && text !== notice);
}

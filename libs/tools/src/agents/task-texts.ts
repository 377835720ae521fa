import { createHash } from 'node:crypto';
import { SUBAGENT_USAGE, type TaskCap, omitUndefined } from '@caribou/contracts';
import type { TaskOutcome, ToolOutcome } from '@caribou/core';

/** Maximum characters of a result or an error that are stored in the message's marks. */
const MAX_BRIEF = 2_000;

const caps: Readonly<Record<TaskCap, string>> = {
  token_capped: 'token budget',
  turn_capped: 'turn budget',
  loop_capped: 'repeated tool-call loop',
};

/**
 * A task's outcome for the model and for clients. The beginnings of the texts and the names of the marks are
 * DeerFlow's: its web client detects by them how a task ended.
 */
export function taskOutcome(outcome: TaskOutcome): ToolOutcome {
  return {
    content: textOf(outcome),
    ...(outcome.status === 'completed' ? {} : { isError: true }),
    additionalKwargs: marksOf(outcome),
  };
}

function textOf({ status, text, stopReason, partial }: TaskOutcome): string {
  const capped = stopReason === undefined ? '.' : ` (capped: ${caps[stopReason]}).`;
  const rest = partial === undefined ? '' : `\n\nPartial result, not finished:\n${partial}`;
  switch (status) {
    case 'completed':
      return `Task Succeeded${capped} Result: ${text}`;
    case 'failed':
      return `Task failed${capped} Error: ${text}${rest}`;
    case 'timed_out':
      return `Task timed out. Error: ${text}${rest}`;
    case 'polling_timed_out':
      return `${text}${rest}`;
    case 'cancelled':
      return `Task cancelled by user.${rest}`;
  }
}

function marksOf({ status, text, stopReason, usage, modelName }: TaskOutcome): Readonly<Record<string, unknown>> {
  const completed = {
    subagent_result_brief: briefOf(text),
    subagent_result_sha256: createHash('sha256').update(text).digest('hex'),
  };
  return {
    subagent_status: status,
    ...(status === 'completed' ? completed : { subagent_error: text.slice(0, MAX_BRIEF) }),
    ...omitUndefined({ subagent_stop_reason: stopReason, subagent_model_name: modelName }),
    ...(usage === null ? {} : { [SUBAGENT_USAGE]: usage }),
  };
}

/** Uses two thirds of the limit for the beginning and the rest for the end. */
function briefOf(text: string): string {
  if (text.length <= MAX_BRIEF) return text;
  const gap = '\n...\n';
  const head = Math.floor(((MAX_BRIEF - gap.length) * 2) / 3);
  return text.slice(0, head) + gap + text.slice(text.length - (MAX_BRIEF - gap.length - head));
}

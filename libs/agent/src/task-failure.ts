import { textOf } from '@caribou/contracts';
import type { ToolOutcome } from '@caribou/core';
import { taskOutcome } from '@caribou/tools';

/**
 * Adds the text and marks of a failed task to the outcome of a `task` call that failed before it became a task, as web
 * clients recognize the end of a task by them. Any other outcome is returned unchanged.
 */
export function asTaskFailure(toolName: string, outcome: ToolOutcome): ToolOutcome {
  const { isError, content, additionalKwargs = {} } = outcome;
  if (toolName !== 'task' || isError !== true || 'subagent_status' in additionalKwargs) return outcome;
  const text = textOf(content).replace(/^Error: /, '');
  const failure = taskOutcome({ status: 'failed', text, usage: null });
  return { ...outcome, ...failure, additionalKwargs: { ...additionalKwargs, ...failure.additionalKwargs } };
}

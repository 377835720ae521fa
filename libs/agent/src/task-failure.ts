import { textOf } from '@caribou/contracts';
import type { ToolOutcome } from '@caribou/core';
import { taskOutcome } from '@caribou/tools';

/**
 * Gives the outcome of a `task` call that never became a task the text and marks of a failed task, whatever refused it or
 * threw: interfaces that show tasks see by them alone that it is over. Any other outcome is returned as it is.
 */
export function asTaskFailure(toolName: string, outcome: ToolOutcome): ToolOutcome {
  const { isError, content, additionalKwargs = {} } = outcome;
  if (toolName !== 'task' || isError !== true || 'subagent_status' in additionalKwargs) return outcome;
  const text = textOf(content).replace(/^Error: /, '');
  const failure = taskOutcome({ status: 'failed', text, usage: null });
  return { ...outcome, ...failure, additionalKwargs: { ...additionalKwargs, ...failure.additionalKwargs } };
}

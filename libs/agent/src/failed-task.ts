import { textOf } from '@caribou/contracts';
import type { ToolOutcome } from '@caribou/core';
import { taskOutcome } from '@caribou/tools';

/**
 * The outcome of a call as its tool message tells it. A `task` call that came to no task, whatever refused it or threw,
 * ends in the words and marks of a failed one: interfaces that show tasks know by them alone that it is over.
 */
export function inWordsOfTask(toolName: string, outcome: ToolOutcome): ToolOutcome {
  const { isError, content, additionalKwargs = {} } = outcome;
  if (toolName !== 'task' || isError !== true || 'subagent_status' in additionalKwargs) return outcome;
  const text = textOf(content).replace(/^Error: /, '');
  const told = taskOutcome({ status: 'failed', text, usage: null });
  return { ...outcome, ...told, additionalKwargs: { ...additionalKwargs, ...told.additionalKwargs } };
}

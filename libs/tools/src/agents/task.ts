import {
  askingRunOf,
  filterAllowedTools,
  toolScope,
  type AnyTool,
  type SubagentPort,
  type ToolOutcome,
} from '@caribou/core';
import { type ApprovalRule, omitUndefined } from '@caribou/contracts';
import { z } from 'zod';
import { taskOutcome } from './task-texts.js';

const Input = z.object({
  description: z
    .string()
    .max(500)
    .default('')
    .describe('The task in 3 to 5 words, shown to the person. Always give this first.'),
  prompt: z
    .string()
    .trim()
    .min(1)
    .max(200_000)
    .describe('All that the subagent needs to know and what it shall give back: it sees nothing of this conversation.'),
  subagent_type: z.string().trim().min(1).max(64).describe('Which kind of subagent takes the task.'),
});

/**
 * Delegates work to a subagent and waits for its result. Every answer, even to invalid arguments, has the format of a
 * task result, by which clients detect that the task has ended.
 *
 * @param toolNames names of the tools of the agent that has this tool
 * @param skillNames names of that agent's skills; null: all
 * @param approvals that agent's rules for calls that a person decides
 */
export function taskTool(
  subagents: SubagentPort,
  toolNames: readonly string[],
  skillNames: readonly string[] | null = null,
  approvals: readonly ApprovalRule[] = [],
): AnyTool {
  return {
    name: 'task',
    description: [
      'Hand a piece of work to a subagent, which works on it alone, with the same files, and gives back a result.',
      `Types: ${subagents.types.map(({ name, description }) => `${name} (${description})`).join('; ')}.`,
      'Several calls in one answer run at the same time. Do not use it for what is quick to do yourself.',
    ].join(' '),
    parameters: z.toJSONSchema(Input, { io: 'input' }),
    async invoke(args, { run, state, toolCallId }) {
      const parsed = Input.safeParse(args);
      if (!parsed.success) return toRefusedOutcome(parsed.error);
      const { description, prompt, subagent_type: type } = parsed.data;
      // A skill that restricts the agent's tools restricts its subagents too.
      const tools = filterAllowedTools(toolNames, state, run);
      const skills = skillNames === null ? {} : { skills: skillNames };
      const callerRunId = askingRunOf(state, toolScope(toolCallId));
      const caller = omitUndefined({ callerRunId });
      const rules = approvals.length === 0 ? {} : { approvals };
      const asked = { toolCallId, ...caller, description, prompt, type, tools, ...skills, ...rules };
      return taskOutcome(await subagents.delegate(asked, run, (data) => run.emit({ kind: 'custom', data })));
    },
  };
}

function toRefusedOutcome(error: z.ZodError): ToolOutcome {
  const issues = error.issues.slice(0, 3).map((issue) => `${issue.path.join('.') || 'arguments'}: ${issue.message}`);
  return taskOutcome({ status: 'failed', text: `Invalid arguments: ${issues.join('; ')}`, usage: null });
}

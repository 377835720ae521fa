import {
  activeSkill,
  type AgentMiddleware,
  filterAllowedTools,
  type ToolCallRequest,
  type ToolOutcome,
} from '@caribou/core';

const NAME = 'skill-tool-policy';

/**
 * Restricts a run to the tools that the active skill allows: calls of others are refused. Requests still have all tools,
 * because a provider's prefix cache begins with them.
 */
export function skillToolPolicy(): AgentMiddleware {
  return {
    name: NAME,
    wrapToolCall(request, next, run) {
      const { name } = request.call;
      if (filterAllowedTools([name], request.state, run).length === 1) return next(request);
      run.recordDecision(NAME, 'refused', { tool: name.slice(0, 64) });
      return Promise.resolve(refuseCall(request, activeSkill.read(request.state, run)?.name));
    },
  };
}

const refuseCall = ({ call }: ToolCallRequest, skill = ''): ToolOutcome => ({
  content: `Error: Tool '${call.name}' was not called: the skill '${skill}', which you were asked to follow, does not allow it.`,
  isError: true,
});

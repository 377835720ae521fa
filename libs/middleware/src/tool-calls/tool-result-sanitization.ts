import { type AgentMiddleware, defuseFrameworkTags } from '@caribou/core';

/**
 * Defuses the framework's tags in results and errors of remote tools, which are untrusted and must not imitate the
 * framework. Tools are selected by origin instead of name, so that none is missed.
 */
export function toolResultSanitization(): AgentMiddleware {
  return {
    name: 'tool-result-sanitization',
    async wrapToolCall(request, next, run) {
      const outcome = await next(request);
      if (request.tool?.remote !== true) return outcome;
      const content = defuseFrameworkTags(outcome.content);
      if (content === outcome.content) return outcome;
      run.recordDecision('tool-result-sanitization', 'defused', { tool: request.tool.name });
      return { ...outcome, content };
    },
  };
}

import { type AgentMiddleware, defuseFrameworkTags } from '@caribou/core';

/**
 * Defuses the framework's tags in what remote tools bring in, results and errors alike: strangers wrote it, and it must
 * not pass for the framework's voice. By origin, not by name, so that no tool of a server is forgotten.
 */
export function toolResultSanitization(): AgentMiddleware {
  return {
    name: 'tool-result-sanitization',
    async wrapToolCall(request, next, run) {
      const outcome = await next(request);
      if (request.tool?.remote !== true) return outcome;
      const content = defuseFrameworkTags(outcome.content);
      if (content === outcome.content) return outcome;
      run.decided('tool-result-sanitization', 'defused', { tool: request.tool.name });
      return { ...outcome, content };
    },
  };
}

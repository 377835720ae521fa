import { BugError } from '@caribou/contracts';
import type { AgentMiddleware, AnyTool, ToolOutcome } from '@caribou/core';
import { deferredCatalog, hiddenNames } from './deferred-catalog.js';
import { latestWords, routedTools } from './routed-tools.js';
import { toolSearchTool } from './tool-search.js';

export interface DeferredToolOptions {
  /** All tools of the agent but `tool_search`, also those that middlewares bring; the deferred ones are hidden. */
  readonly tools: readonly AnyTool[];
  /** Tools shown unasked when their keywords are in the person's message. */
  readonly autoPromoteTopK?: number;
}

/**
 * Keeps deferred tools out of the model's request, and refuses calls of them, until they are looked up with
 * `tool_search` or their keywords are in what the person said last. What is promoted stands in the thread's state, so
 * it lasts until the tools change. Installed only when tool search is on: without it deferred tools are like any other.
 *
 * A deferred tool that it was not told of never gets to the model: the model call fails.
 *
 * @throws {BugError} when a deferred tool has the name of another tool
 */
export function deferredToolFilter({ tools, autoPromoteTopK = 3 }: DeferredToolOptions): AgentMiddleware {
  const catalog = deferredCatalog(tools);
  const known = new Set(catalog.tools.map(({ name }) => name));
  return {
    name: 'deferred-tool-filter',
    tools: known.size === 0 ? [] : [toolSearchTool(catalog)],
    beforeModel(state, run) {
      const hidden = hiddenNames(catalog, state);
      const routed = routedTools(latestWords(state.messages), catalog.tools, autoPromoteTopK);
      const names = routed.flatMap(({ name }) => (hidden.has(name) ? [name] : []));
      if (names.length === 0) return Promise.resolve(undefined);
      run.decided('deferred-tool-filter', 'promoted', { count: names.length });
      return Promise.resolve({ update: { promoted: { catalog_hash: catalog.hash, names } } });
    },
    async wrapModelCall(request, next) {
      const stranger = request.tools.find(({ name, deferred }) => deferred !== undefined && !known.has(name));
      if (stranger !== undefined) throw new BugError(`the deferred tool '${stranger.name}' is in no catalogue`);
      const hidden = hiddenNames(catalog, request.state);
      return next({ ...request, tools: request.tools.filter(({ name }) => !hidden.has(name)) });
    },
    async wrapToolCall(request, next, run) {
      const { name } = request.call;
      const stranger = request.tool?.deferred !== undefined && !known.has(name);
      if (!stranger && !hiddenNames(catalog, request.state).has(name)) return next(request);
      run.decided('deferred-tool-filter', 'refused');
      return refused(name);
    },
  };
}

const refused = (name: string): ToolOutcome => ({
  content:
    `Error: Tool '${name}' is deferred and was not called, as you have not seen its schema. Call tool_search first, ` +
    `with the query "select:${name}", then call it again.`,
  isError: true,
});

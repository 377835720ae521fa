import { BugError } from '@caribou/contracts';
import type { AgentMiddleware, AnyTool, ToolOutcome } from '@caribou/core';
import { buildDeferredCatalog, findHiddenNames } from './deferred-catalog.js';
import { latestUserText, matchToolsByKeywords } from './routed-tools.js';
import { toolSearchTool } from './tool-search.js';

export interface DeferredToolOptions {
  /** All tools of the agent but `tool_search`, including those of middlewares; the deferred ones are hidden. */
  readonly tools: readonly AnyTool[];
  /** Maximum tools that are revealed when their keywords are in the user's message. */
  readonly autoPromoteTopK?: number;
}

/**
 * Removes deferred tools from the model's requests, and refuses calls of them, until they are looked up with
 * `tool_search` or their keywords are in the user's last message. Promotions are stored in the thread's state and are
 * valid until the tools change. Installed only when tool search is on; otherwise deferred tools are like any other.
 *
 * An unknown deferred tool is never sent to the model: the model call fails.
 *
 * @throws {BugError} when a deferred tool has the name of another tool
 */
export function deferredToolFilter({ tools, autoPromoteTopK = 3 }: DeferredToolOptions): AgentMiddleware {
  const catalog = buildDeferredCatalog(tools);
  const known = new Set(catalog.tools.map(({ name }) => name));
  return {
    name: 'deferred-tool-filter',
    tools: known.size === 0 ? [] : [toolSearchTool(catalog)],
    beforeModel(state, run) {
      const hidden = findHiddenNames(catalog, state);
      const routed = matchToolsByKeywords(latestUserText(state.messages), catalog.tools, autoPromoteTopK);
      const names = routed.flatMap(({ name }) => (hidden.has(name) ? [name] : []));
      if (names.length === 0) return Promise.resolve(undefined);
      run.recordDecision('deferred-tool-filter', 'promoted', { count: names.length });
      return Promise.resolve({ update: { promoted: { catalog_hash: catalog.hash, names } } });
    },
    async wrapModelCall(request, next) {
      const unknown = request.tools.find(({ name, deferred }) => deferred !== undefined && !known.has(name));
      if (unknown !== undefined) throw new BugError(`the deferred tool '${unknown.name}' is not in the catalogue`);
      const hidden = findHiddenNames(catalog, request.state);
      return next({ ...request, tools: request.tools.filter(({ name }) => !hidden.has(name)) });
    },
    async wrapToolCall(request, next, run) {
      const { name } = request.call;
      const isUnknown = request.tool?.deferred !== undefined && !known.has(name);
      if (!isUnknown && !findHiddenNames(catalog, request.state).has(name)) return next(request);
      run.recordDecision('deferred-tool-filter', 'refused');
      return refuseDeferredCall(name);
    },
  };
}

const refuseDeferredCall = (name: string): ToolOutcome => ({
  content:
    `Error: Tool '${name}' is deferred and was not called, as you have not seen its schema. Call tool_search first, ` +
    `with the query "select:${name}", then call it again.`,
  isError: true,
});

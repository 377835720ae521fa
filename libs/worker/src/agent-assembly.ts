import { omitUndefined } from '@caribou/contracts';
import { type AgentRun, runAgent } from '@caribou/agent';
import type { Config } from '@caribou/config';
import {
  type AnyTool,
  listTools,
  type Logger,
  type LoopOutcome,
  memoizeRecentLists,
  selectOfferedTools,
  withoutTaken,
} from '@caribou/core';
import { formatDeferredTools } from '@caribou/middleware';
import type { AgentLoop } from '@caribou/runs';
import type { AgentTools } from './agent-tools.js';

/** Begins to ask the sources for tools; the returned function adds them to the built-in ones. */
export type ToolOffer = () => (builtIn: readonly AnyTool[], logger: Logger) => Promise<readonly AnyTool[]>;

/**
 * Creates the function that assembles the tools of a run: the built-in ones and those of the sources, as configured.
 */
export function toolOffer(
  { sources, custom }: Pick<AgentTools, 'sources' | 'custom'>,
  config: Pick<Config, 'tools'>,
): ToolOffer {
  const customTools = custom.flatMap((middleware) => middleware.tools ?? []);
  const select = memoizeRecentLists((tools: readonly AnyTool[]) => selectOfferedTools(tools, config.tools));
  return () => {
    const listed = listTools(sources);
    // Where the run ends before it needs them, nobody else handles a failure.
    listed.catch(() => undefined);
    return async (builtIn, logger) => {
      const others = withoutTaken(await listed, [...builtIn, ...customTools], logger);
      return select([...builtIn, ...others]);
    };
  };
}

/** Describes the tools of an agent for the model: all names, and the tools that must be looked up before use. */
export function toolFacts(
  tools: readonly AnyTool[],
  { chain }: Pick<Config, 'chain'>,
): { readonly toolNames: readonly string[]; readonly deferredTools?: string } {
  const hidden = chain.tool_search.enabled ? tools.filter(({ deferred }) => deferred !== undefined) : [];
  const deferredTools = formatDeferredTools(hidden.map(({ name }) => name));
  return { toolNames: tools.map(({ name }) => name), ...omitUndefined({ deferredTools }) };
}

/** An agent that was assembled for one run. */
export type AssembledAgent = Pick<AgentRun, 'chain' | 'tools' | 'model' | 'systemPrompt' | 'options' | 'run'>;

/** Runs the loop of an agent from the head of the run's thread. */
export const runFromHead = (
  { host, head, position, turnsTaken }: Parameters<AgentLoop>[0],
  agent: AssembledAgent,
): Promise<LoopOutcome> =>
  runAgent({
    ...agent,
    host,
    state: head.state,
    step: head.metadata?.step ?? 0,
    position,
    turnsTaken,
  });

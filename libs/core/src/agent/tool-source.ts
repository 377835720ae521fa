import type { RunContextValues } from '@caribou/contracts';
import type { Logger } from '../util/logger.js';
import type { AnyTool } from './tool.js';

/** The run that tools are requested for. */
export interface ToolRequestContext {
  readonly userId: string;
  readonly context: RunContextValues;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * A source of tools that are not built in, such as those of MCP servers or of the operator. It answers within a bounded
 * time, and logs and omits what it cannot reach instead of failing the run.
 */
export interface ToolSource {
  toolsFor(request: ToolRequestContext): Promise<readonly AnyTool[]>;
}

/** Creates a source with the same tools for every run. */
export const staticToolSource = (tools: readonly AnyTool[]): ToolSource => ({ toolsFor: () => Promise.resolve(tools) });

/** The tools of all sources, in their order. */
export const listTools = async (
  sources: readonly ToolSource[],
  request: ToolRequestContext,
): Promise<readonly AnyTool[]> => (await Promise.all(sources.map((source) => source.toolsFor(request)))).flat();

/**
 * Those of the tools that are offered. Each name is used once, first by `taken` and then in the order of the tools: a model
 * could not distinguish two tools with one name.
 */
export function withoutTaken(
  tools: readonly AnyTool[],
  taken: readonly AnyTool[],
  request: ToolRequestContext,
): readonly AnyTool[] {
  const names = new Set(taken.map(({ name }) => name));
  return tools.filter(({ name }) => {
    const isNew = !names.has(name);
    names.add(name);
    if (!isNew)
      request.logger.warn({ event: 'tool.hidden', tool: name }, 'a tool is left out because another tool has its name');
    return isNew;
  });
}

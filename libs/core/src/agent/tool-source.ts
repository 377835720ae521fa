import type { Logger } from '../util/logger.js';
import type { AnyTool } from './tool.js';

/**
 * A source of tools that are not built in, such as those of MCP servers or of the operator. It answers within a bounded
 * time, and logs and omits what it cannot reach instead of failing the run.
 */
export interface ToolSource {
  tools(): Promise<readonly AnyTool[]>;
}

/** Creates a source with the same tools for every run. */
export const staticToolSource = (tools: readonly AnyTool[]): ToolSource => ({ tools: () => Promise.resolve(tools) });

/** The tools of all sources, in their order. */
export const listTools = async (sources: readonly ToolSource[]): Promise<readonly AnyTool[]> =>
  (await Promise.all(sources.map((source) => source.tools()))).flat();

/**
 * Those of the tools that are offered. Each name is used once, first by `taken` and then in the order of the tools: a model
 * could not distinguish two tools with one name.
 */
export function withoutTaken(tools: readonly AnyTool[], taken: readonly AnyTool[], logger: Logger): readonly AnyTool[] {
  const names = new Set(taken.map(({ name }) => name));
  return tools.filter(({ name }) => {
    const isNew = !names.has(name);
    names.add(name);
    if (!isNew)
      logger.warn({ event: 'tool.hidden', tool: name }, 'a tool is left out because another tool has its name');
    return isNew;
  });
}

import type { RunContextValues } from '@caribou/contracts';
import type { Logger } from '../util/logger.js';
import type { AnyTool } from './tool.js';

/** For whom tools are asked. */
export interface ToolRequestContext {
  readonly userId: string;
  readonly context: RunContextValues;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Tools that are not built in: of remote servers, of the operator. What a source cannot reach now it leaves out and
 * logs; it never fails a run, and it answers within a bounded time.
 */
export interface ToolSource {
  toolsFor(asked: ToolRequestContext): Promise<readonly AnyTool[]>;
}

/** A source that has the same tools for every run. */
export const staticToolSource = (tools: readonly AnyTool[]): ToolSource => ({ toolsFor: () => Promise.resolve(tools) });

/**
 * What the sources have together. A name that is taken stays with who came first, beginning with `taken`: a model could
 * not tell two tools of one name apart.
 */
export async function collectTools(
  sources: readonly ToolSource[],
  asked: ToolRequestContext,
  taken: readonly AnyTool[],
): Promise<readonly AnyTool[]> {
  const found = await Promise.all(sources.map((source) => source.toolsFor(asked)));
  const names = new Set(taken.map(({ name }) => name));
  return found.flat().filter(({ name }) => {
    const isNew = !names.has(name);
    names.add(name);
    if (!isNew) asked.logger.warn({ event: 'tool.hidden', tool: name }, 'a tool is left out: its name is taken');
    return isNew;
  });
}

import { executeAtMostOnce } from './execute-at-most-once.js';
import type { AnyTool } from '../agent/tool.js';
import type { ToolJournal } from './tool-journal.js';

/**
 * The tools with each call of them made at most once, whatever process goes on with the run: a call that is known gets
 * the outcome that was kept, or is told that nobody knows it. Those that only read are as they were.
 */
export const withAtMostOnce = (tools: readonly AnyTool[], journal: ToolJournal): readonly AnyTool[] =>
  tools.map((tool) => {
    if (tool.readOnly === true) return tool;
    return {
      ...tool,
      invoke: (args, context) =>
        executeAtMostOnce({ journal, context, what: { tool: tool.name, args } }, () => tool.invoke(args, context)),
    };
  });

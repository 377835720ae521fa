import { executeAtMostOnce } from './execute-at-most-once.js';
import type { AnyTool } from '../agent/tool.js';
import type { ToolJournal } from './tool-journal.js';

/**
 * Wraps tools so that each call is executed at most once, whichever process continues the run: a known call gets its
 * stored outcome, or that the outcome is unknown. Read-only tools are unchanged.
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

import { CONTROL_TOOLS, SANDBOX_TOOLS, WEB_TOOLS } from '@caribou/contracts';

/**
 * Built-in tools of DeerFlow that do not exist here: prompts and skills written for it refer to them by these names.
 */
const NOT_OFFERED = [
  ...['web_capture', 'describe_skill', 'skill_manage'],
  ...['memory_search', 'memory_add', 'memory_update', 'memory_delete'],
];

/** Names that no tool of an MCP server or of an operator may take. */
export const RESERVED_TOOL_NAMES: ReadonlySet<string> = new Set([
  ...SANDBOX_TOOLS,
  ...WEB_TOOLS,
  ...CONTROL_TOOLS,
  ...NOT_OFFERED,
]);

/** Built-in tools. */
const OFFERED = [
  ...['ls', 'glob', 'grep', 'read_file', 'write_file', 'str_replace', 'bash', 'present_files', 'view_image'],
  ...['ask_clarification', 'write_todos', 'task', 'tool_search', 'setup_agent', 'update_agent', 'list_uploaded_files'],
  ...['web_search', 'web_fetch', 'image_search'],
];

/**
 * Built-in tools of DeerFlow that do not exist here: prompts and skills written for it refer to them by these names.
 */
const NOT_OFFERED = [
  ...['web_capture', 'describe_skill', 'skill_manage'],
  ...['memory_search', 'memory_add', 'memory_update', 'memory_delete'],
];

/** Names that no tool of an MCP server or of an operator may take. */
export const RESERVED_TOOL_NAMES: ReadonlySet<string> = new Set([...OFFERED, ...NOT_OFFERED]);

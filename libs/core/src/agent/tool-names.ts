/** Names of tools that are ours, whether an agent is given them or not: nobody else's tool may pass for one. */
export const OUR_TOOLS: ReadonlySet<string> = new Set([
  ...['ls', 'glob', 'grep', 'read_file', 'write_file', 'str_replace', 'bash', 'present_files', 'view_image'],
  ...['ask_clarification', 'write_todos', 'task', 'tool_search', 'setup_agent', 'update_agent', 'list_uploaded_files'],
  ...['web_search', 'web_fetch', 'image_search', 'web_capture', 'describe_skill', 'skill_manage'],
  ...['memory_search', 'memory_add', 'memory_update', 'memory_delete'],
]);

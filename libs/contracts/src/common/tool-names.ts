/** Built-in tools that work on the files and processes of a sandbox. */
export const SANDBOX_TOOLS = ['ls', 'glob', 'grep', 'read_file', 'write_file', 'str_replace', 'bash'] as const;

/** Built-in tools that ask a web provider. */
export const WEB_TOOLS = ['web_search', 'web_fetch', 'image_search'] as const;

/** Built-in tools that act on the run or the thread. */
export const CONTROL_TOOLS = [
  ...(['present_files', 'view_image', 'list_uploaded_files', 'ask_clarification', 'write_todos', 'task'] as const),
  ...(['tool_search', 'setup_agent', 'update_agent', 'stop_scheduled_task'] as const),
] as const;

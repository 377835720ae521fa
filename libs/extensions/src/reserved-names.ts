/** Names of our own middlewares and places in the chain: node names, logs and fields of the state are theirs. */
export const OUR_MIDDLEWARES: ReadonlySet<string> = new Set([
  'input-sanitization',
  'tool-output-budget',
  'tool-result-sanitization',
  'thread-data',
  'uploads',
  'skill-activation',
  'sandbox',
  'dangling-tool-call',
  'llm-error',
  'sandbox-audit',
  'read-before-write',
  'tool-error',
  'skill-tool-policy',
  'summarization',
  'todo',
  'token-usage',
  'title',
  'memory',
  'view-image',
  'deferred-tool-filter',
  'subagent-limit',
  'loop-detection',
  'token-budget',
  'custom',
  'terminal-response',
  'length-finish',
  'safety-finish',
  'clarification',
]);

/** Names of tools that are ours, whether an agent is given them or not. */
export const OUR_TOOLS: ReadonlySet<string> = new Set([
  ...['ls', 'glob', 'grep', 'read_file', 'write_file', 'str_replace', 'bash', 'present_files', 'view_image'],
  ...['ask_clarification', 'write_todos', 'task', 'tool_search', 'setup_agent', 'update_agent', 'list_uploaded_files'],
  ...['web_search', 'web_fetch', 'image_search', 'web_capture', 'describe_skill', 'skill_manage'],
  ...['memory_search', 'memory_add', 'memory_update', 'memory_delete'],
]);

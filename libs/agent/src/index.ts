export { runAgent } from './run-agent.js';
export { buildSystemPrompt } from './system-prompt.js';

export { runAgent } from './run-agent.js';
export { buildSystemPrompt } from './prompt/system-prompt.js';

export type { AgentRun, LoopOptions } from './agent-run.js';
export { runAgent } from './run-agent.js';
export { buildSystemPrompt, type PromptFacts } from './system-prompt.js';

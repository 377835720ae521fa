export { chainOptions, type ChainSettings } from './assembly/chain-options.js';
export { modelGateLimits } from './assembly/model-call-options.js';
export { type RunSwitches, switchesOf } from './assembly/run-switches.js';
export { runAgent } from './run-agent.js';
export type { PromptFacts } from './prompt/prompt-facts.js';
export { buildSystemPrompt } from './prompt/system-prompt.js';
export { buildSubagentPrompt } from './prompt/subagent-prompt.js';
export { mayUse, type SubagentDefinition, subagentDefinitions } from './subagents/definitions.js';

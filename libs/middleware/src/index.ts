export { formatDeferredTools } from './tool-search/deferred-catalog.js';
export { describeChain, leadChain, MIDDLEWARE_NAMES, subagentChain } from './chain/chain.js';
export type { ChainOptions } from './chain/chain-types.js';
export { type HookName, type HookPass, runHooks } from './chain/hooks.js';
export {
  type Compaction,
  compactionUpdate,
  conversationTokens,
  planCompaction,
} from './summarization/compaction.js';
export { gateCatalog } from './model-calls/gated-model.js';
export { type SubagentLimits, subagentLimits } from './limits/subagent-limit.js';
export { onion } from './chain/onion.js';
export type { ContextFacts } from './thread-context/context-sections.js';
export { TODO_PROMPT } from './conversation/todo-texts.js';
export { titleWithoutAnswer } from './conversation/title.js';

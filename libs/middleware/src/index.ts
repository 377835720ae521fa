export { describeChain, leadChain, type PlaceDescription, subagentChain } from './chain.js';
export type { ChainOptions, ChainPorts } from './chain-types.js';
export { ChainRecorder } from './chain-recorder.js';
export { type HookName, type HookPass, runHooks } from './hooks.js';
export { gatedModel } from './gated-model.js';
export { onion } from './onion.js';
export { TODO_PROMPT } from './todo-texts.js';
export { watchedCall, watchedHook } from './watched.js';
export { titleWithoutAnswer } from './title.js';

export { leadChain } from './chain.js';
export { type HookName, type HookPass, runHooks } from './hooks.js';
export { onion } from './onion.js';
export type { TitleOptions } from './title.js';

export { type Extensions, loadExtensions } from './load-extensions.js';
export { loadModels } from './load-models.js';
export { withJournal } from './with-journal.js';
export type { Toolkit } from './public-types.js';
/** Types for custom code in JavaScript. */
export type { Message } from '@caribou/contracts';
export type { ModelCall, ModuleDelta } from '@caribou/core';

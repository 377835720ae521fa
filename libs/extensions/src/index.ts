export { type Extensions, loadExtensions } from './load-extensions.js';
export { withJournal } from './with-journal.js';
export type { Toolkit } from './public-types.js';

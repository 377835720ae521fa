export { openObjectStore } from './open-object-store.js';
export type { OpenedStore } from './common/opened-store.js';
export { readVerified } from './read-verified.js';

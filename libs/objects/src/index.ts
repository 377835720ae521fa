export { openObjectStore } from './open-object-store.js';
export type { OpenedStore } from './opened-store.js';
export { readVerified } from './read-verified.js';

export { shownMemory } from './shown-memory.js';

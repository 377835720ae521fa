export { addFact, editFact, removeFact } from './edit-facts.js';
export { importedMemory } from './imported-memory.js';
export { shownMemory } from './shown-memory.js';

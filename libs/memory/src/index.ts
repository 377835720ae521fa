export { applyExtraction } from './apply-extraction.js';
export { ConversationReader, type Reading } from './conversation-reader.js';
export { addFact, editFact, removeFact } from './edit-facts.js';
export { extractionCall } from './extraction-prompt.js';
export { importedMemory } from './imported-memory.js';
export { type Extraction, readAnswer } from './read-answer.js';
export { shownMemory } from './shown-memory.js';
export { loadTokenCounter } from './token-counter.js';

export { applyExtraction } from './apply-extraction.js';
export { ConversationReader, type Reading } from './conversation-reader.js';
export { addFact, editFact, removeFact } from './edit-facts.js';
export { extractionCall } from './extraction-prompt.js';
export { importMemory } from './import-memory.js';
export { type Extraction, readAnswer } from './read-answer.js';
export { renderMemory } from './render-memory.js';
export { loadTokenCounter } from './token-counter.js';

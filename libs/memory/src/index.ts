export { applyExtraction } from './apply-extraction.js';
export { ConversationReader, type Transcript } from './conversation-reader.js';
export { addFact, editFact, removeFact } from './edit-facts.js';
export { createExtractionCall } from './extraction-prompt.js';
export { importMemory } from './import-memory.js';
export { type Extraction, parseExtraction } from './parse-extraction.js';
export { renderMemory } from './render-memory.js';
export { loadTokenCounter } from './token-counter.js';

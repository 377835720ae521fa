export { applyExtraction } from './apply-extraction.js';
export { ConversationReader, type Reading } from './conversation-reader.js';
export { extractionCall } from './extraction-prompt.js';
export { type Extraction, readAnswer } from './read-answer.js';

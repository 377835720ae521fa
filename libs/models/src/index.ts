export { keyHeaders } from './http/key-headers.js';
export { createModelCatalog } from './model-catalog.js';

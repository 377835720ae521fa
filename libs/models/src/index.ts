export { modelListRequest } from './model-list.js';
export { createEmbedder } from './http/embedder.js';
export { createModelCatalog } from './model-catalog.js';

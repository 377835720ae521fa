export { modelListRequest } from './model-list.js';
export { createModelCatalog } from './model-catalog.js';

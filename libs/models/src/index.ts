export { createModelCatalog } from './model-catalog.js';

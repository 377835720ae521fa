export { createModelCatalog } from './model-catalog.js';
export type { ModelClocks, ModelOptions } from './openai-model.js';
export type { FailureReason } from './provider-error.js';

export { camelKeys } from './camel-keys.js';
export type { ChainConfig, ContextSize } from './chain-schema.js';
export type {
  ApiKey,
  AuthConfig,
  ClocksConfig,
  Config,
  HttpConfig,
  McpConfig,
  ModelConfig,
  QuotasConfig,
} from './config.js';
export { ConfigError } from './config-error.js';
export { type ExtensionsFile, extensionsFile } from './extensions-file.js';
export { lateVariable } from './late-variable.js';
export { loadConfig } from './load-config.js';
export { BUILT_IN_GROUPS } from './tool-groups.js';
export { BUILT_IN_SUBAGENTS, SubagentsFile as SubagentsConfig } from './subagents-schema.js';
export { Secret } from './secret.js';
export type { WebConfig, WebFetchConfig, WebImagesConfig, WebSearchConfig } from './web-config.js';

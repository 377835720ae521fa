export { camelKeys } from './common/camel-keys.js';
export type { ChainConfig, ContextSize } from './schema/chain-schema.js';
export { traitsOfModel } from './common/claude-models.js';
export type { AnthropicConfig } from './common/anthropic-config.js';
export type {
  ApiKey,
  AuthConfig,
  ClocksConfig,
  Config,
  HttpConfig,
  McpConfig,
  ModelConfig,
  ModelPricing,
  EmbeddingsConfig,
  QuotasConfig,
} from './settings/config.js';
export { ConfigError } from './common/config-error.js';
export { EXTENSIONS_MAX_AGE_MS, type ExtensionsFile, extensionsFile } from './load/extensions-file.js';
export { readEnvLazily } from './common/read-env-lazily.js';
export { configSources } from './load/config-sources.js';
export { configFindings } from './settings/config-findings.js';
export { drainOf } from './settings/drains.js';
export { maskConfig } from './settings/mask-config.js';
export { loadConfig } from './load/load-config.js';
export { BUILT_IN_GROUPS } from './deerflow/tool-groups.js';
export { BUILT_IN_SUBAGENTS, SubagentsFile as SubagentsConfig } from './schema/subagents-schema.js';
export { defaultSandboxConfig, type SandboxConfig } from './settings/sandbox-config.js';
export {
  type FilesConfig,
  type FolderStoreConfig,
  type ObjectStoreConfig,
  objectStoreConfig,
  type S3StoreConfig,
} from './settings/files-config.js';
export { readKubeconfig } from './load/kubeconfig.js';
export { Secret } from './common/secret.js';
export type { WebConfig, WebFetchConfig, WebImagesConfig, WebSearchConfig } from './settings/web-config.js';
export { type AgentSettings, readAgentEnvironment } from './load/agent-environment.js';

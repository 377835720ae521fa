import type { Bus } from '@caribou/bus';
import type { AuthConfig, Config, McpConfig, ModelConfig } from '@caribou/config';
import type { SkillLimits } from '@caribou/core';

/** Injection tokens of what connect-parts.ts builds. */
export const THREAD_STORE = Symbol('ThreadStore');
export const TASK_STORE = Symbol('TaskStore');
export const EVENT_LOG = Symbol('RunEventLog');
export const BUS = Symbol('Bus');
export const LOGGER = Symbol('Logger');
export const METRICS = Symbol('Metrics');
export const USER_FILES = Symbol('UserFiles');
export const VOLUME = Symbol('SharedVolume');
export const CONVERSIONS = Symbol('ConversionStore');
export const CONVERTER = Symbol('DocumentConverter');
export const MEMORIES = Symbol('MemoryStore');
export const ERASURES = Symbol('Erasures');
export const LOCKS = Symbol('Locks');
export const MODELS = Symbol('ModelCatalog');
export const AGENTS = Symbol('AgentStore');
export const CHAINS = Symbol('ChainCatalog');
/** Documents that administrators write. */
export const DOCUMENTS = Symbol('SharedDocuments');
export const EXTENSIONS_FILE = Symbol('ExtensionsFile');
export const TRACING = Symbol('Tracing');
export const SKILL_CATALOG = Symbol('SkillCatalog');
export const SKILL_FILES = Symbol('SkillFiles');
export const SKILL_STORE = Symbol('SkillStore');
export const ACCOUNTS = Symbol('AccountStore');
export const ATTEMPTS = Symbol('AttemptStore');
export const PASSWORDS = Symbol('Passwords');
export const SETTINGS = Symbol('GatewaySettings');

/** What the gateway uses of the bus. */
export type GatewayBus = Pick<
  Bus,
  'wakes' | 'publishCancel' | 'publishEvents' | 'subscribeEvents' | 'checkStreams' | 'call' | 'publishConfigChange'
>;

/** The part of the configuration that decides how the gateway answers. */
export interface GatewaySettings {
  readonly heartbeatMs: number;
  readonly maxStreamsPerUser: number;
  readonly maxTurns: number;
  readonly maxTurnsCap: number;
  /** Without what is the operator's own: keys, URLs, headers. */
  readonly models: readonly Omit<ModelConfig, 'apiKey' | 'baseUrl' | 'headers' | 'body'>[];
  /** Whether pages show token counts. */
  readonly showsTokens: boolean;
  readonly suggestions: Config['suggestions'];
  readonly problems: readonly string[];
  readonly bodyLimitBytes: number;
  readonly uploads: Config['uploads'];
  readonly memory: Config['chain']['memory'];
  readonly skills: SkillLimits;
  readonly agentsApi: Config['agentsApi'];
  /** Names of all groups of tools. */
  readonly toolGroups: readonly string[];
  readonly mcp: McpConfig;
  readonly auth: AuthConfig;
  readonly conversionLeaseMs: number;
  readonly conversionRenewMs: number;
}

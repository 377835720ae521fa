import type { Environment } from '../common/references.js';
import type { Config } from '../settings/config.js';

export type ConfigOrigin = 'file' | 'environment' | 'default';

/** The variables that decide about parts of the configuration, by its key. */
const VARIABLES: Readonly<Record<string, readonly string[]>> = {
  http: ['HOST', 'PORT', 'CARIBOU_API_KEYS', 'CARIBOU_ALLOW_UNAUTHENTICATED', 'CARIBOU_CORS_ORIGINS'],
  nats: ['NATS_URL', 'NATS_CA', 'NATS_CERT', 'NATS_KEY', 'NATS_CREDS', 'NATS_NKEY_SEED'],
  redis: [
    'REDIS_URL',
    'REDIS_FSYNC',
    'REDIS_CA',
    'REDIS_CERT',
    'REDIS_KEY',
    'REDIS_SENTINEL_USER',
    'REDIS_SENTINEL_PASSWORD',
  ],
  homeDir: ['CARIBOU_HOME', 'DEER_FLOW_HOME'],
  runDir: ['CARIBOU_RUN_DIR'],
  extensionsConfigPath: ['CARIBOU_EXTENSIONS_CONFIG', 'DEER_FLOW_EXTENSIONS_CONFIG_PATH'],
  logLevel: ['LOG_LEVEL'],
  healthPort: ['CARIBOU_HEALTH_PORT'],
  sandbox: ['CARIBOU_POD_IP'],
  otlpEndpoint: ['OTEL_EXPORTER_OTLP_ENDPOINT'],
  models: ['OPENAI_API_KEY', 'OPENAI_MODEL', 'OPENAI_BASE_URL'],
  web: ['TAVILY_API_KEY', 'FIRECRAWL_API_KEY', 'JINA_API_KEY'],
};

/** Keys of the configuration whose sections of the file have another name. */
const SECTIONS: Readonly<Record<string, readonly string[]>> = {
  logLevel: ['log_level'],
  commandRules: ['command_rules'],
  agentsApi: ['agents_api'],
  inputPolish: ['input_polish'],
  tools: ['tools', 'tool_groups'],
};

/** Keys that say something about the loading. */
const ABOUT_LOADING: ReadonlySet<string> = new Set(['origins', 'warnings', 'notices', 'problems', 'chain']);

/** The names of the variables above that are set, themselves or by a file (`_FILE`). */
export const setVariables = (env: Environment): readonly string[] =>
  Object.values(VARIABLES)
    .flat()
    .filter((name) => [name, `${name}_FILE`].some((either) => (env[either]?.trim() ?? '') !== ''));

/** Where each part of the configuration comes from, by its key; sections of middlewares are `chain.<section>`. */
export function configSources({ origins, ...config }: Config): Readonly<Record<string, readonly ConfigOrigin[]>> {
  const sections = new Set(origins.sections);
  const variables = new Set(origins.variables);
  const originsOf = (key: string, names: readonly string[]): readonly ConfigOrigin[] => {
    const found: ConfigOrigin[] = [
      ...(names.some((name) => sections.has(name)) ? (['file'] as const) : []),
      ...((VARIABLES[key] ?? []).some((name) => variables.has(name)) ? (['environment'] as const) : []),
    ];
    return found.length === 0 ? ['default'] : found;
  };
  const keys = Object.keys(config).filter((key) => !ABOUT_LOADING.has(key));
  return Object.fromEntries([
    ...keys.map((key) => [key, originsOf(key, SECTIONS[key] ?? [key])] as const),
    ...Object.keys(config.chain).map((key) => [`chain.${key}`, originsOf(`chain.${key}`, [key])] as const),
  ]);
}

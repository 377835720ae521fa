import type { Config } from './config.js';

/** What is to be said about a configuration that loads. */
export interface ConfigFinding {
  /** warn: the product works with a limitation. */
  readonly level: 'ok' | 'warn';
  readonly topic: string;
  /** Never contains a key or a password. */
  readonly text: string;
  /** What to do about it. */
  readonly fix?: string;
}

const ok = (topic: string, text: string): ConfigFinding => ({ level: 'ok', topic, text });

/** Warnings and notices of the loader, which contain their own advice after the last semicolon, and who may sign in from where. */
export const configFindings = (config: Config): readonly ConfigFinding[] => [...findingsOfLoad(config), access(config)];

const findingsOfLoad = ({ warnings, notices, models }: Config): readonly ConfigFinding[] => [
  ok('config', `loads: ${models.length} models, ${warnings.length} warnings, ${notices.length} notices`),
  ...warnings.map((text): ConfigFinding => ({ level: 'warn', topic: 'config', text })),
  ...notices.map((text) => ok('config', text)),
];

const isLoopback = (host: string): boolean => /^(127\.|localhost$|::1$)/.test(host);

function access({ http, auth }: Config): ConfigFinding {
  const { apiKeys, host } = http;
  if (auth.enabled) return signIn({ http, auth });
  if (apiKeys.length > 0) return ok('access', `${apiKeys.length} API keys, on ${host}`);
  if (isLoopback(host)) return ok('access', `no sign-in, on ${host} only`);
  return {
    level: 'warn',
    topic: 'access',
    text: `no sign-in, on ${host}: everybody who reaches the port is administrator`,
    fix: 'set CARIBOU_API_KEYS or auth.enabled, or let only a trusted proxy reach it',
  };
}

function signIn({ http: { apiKeys, host }, auth }: Pick<Config, 'http' | 'auth'>): ConfigFinding {
  const text = `sign-in with accounts, ${apiKeys.length} API keys, on ${host}`;
  if (!auth.allowRegistration || isLoopback(host)) return ok('access', text);
  return {
    level: 'warn',
    topic: 'access',
    text: `${text}: everybody who reaches the port may create an account`,
    fix: 'set auth.local.allow_registration to false once everybody has one',
  };
}

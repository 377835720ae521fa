import { type Config, ConfigError, loadConfig } from '@caribou/config';
import { type Finding, fail, ok, warn } from './finding.js';
import type { Surroundings } from './surroundings.js';

export interface Loaded {
  /** Undefined when it cannot be used. */
  readonly config: Config | undefined;
  readonly findings: readonly Finding[];
}

/** The configuration as the services read it. */
export function checkConfig({ env, root }: Surroundings): Loaded {
  try {
    const config = loadConfig(env, root);
    return { config, findings: [...told(config), ...access(config)] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const findings = error.faults.map((fault) => fail('config', fault, 'correct the key or the variable'));
    return { config: undefined, findings };
  }
}

/** Warnings and notices say what to do themselves, behind their last semicolon. */
function told({ warnings, notices, models }: Config): readonly Finding[] {
  return [
    ok('config', `loads: ${models.length} models, ${warnings.length} warnings, ${notices.length} notices`),
    ...warnings.map((line): Finding => ({ level: 'warn', topic: 'config', text: line })),
    ...notices.map((line) => ok('config', line)),
  ];
}

const isLoopback = (host: string): boolean => /^(127\.|localhost$|::1$)/.test(host);

function access({ http, auth }: Config): readonly Finding[] {
  const { apiKeys, host } = http;
  if (auth.enabled) return [signIn({ http, auth })];
  if (apiKeys.length > 0) return [ok('access', `${apiKeys.length} API keys, on ${host}`)];
  if (isLoopback(host)) return [ok('access', `no sign-in, on ${host} only`)];
  return [
    warn(
      'access',
      `no sign-in, on ${host}: who reaches the port is administrator`,
      'set CARIBOU_API_KEYS or auth.enabled, or let only a trusted proxy reach it',
    ),
  ];
}

function signIn({ http: { apiKeys, host }, auth }: Pick<Config, 'http' | 'auth'>): Finding {
  const text = `people sign in, ${apiKeys.length} API keys, on ${host}`;
  if (!auth.allowRegistration || isLoopback(host)) return ok('access', text);
  return warn(
    'access',
    `${text}: who reaches the port may make an account`,
    'set auth.local.allow_registration to false once everybody has one',
  );
}

import { type Config, ConfigError, loadConfig } from '@caribou/config';
import { type Finding, fail, ok, warn } from './finding.js';
import type { DoctorContext } from './doctor-context.js';

export interface Loaded {
  /** The configuration; undefined when it cannot be used. */
  readonly config: Config | undefined;
  readonly findings: readonly Finding[];
}

/** Loads the configuration as the services do. */
export function checkConfig({ env, root }: DoctorContext): Loaded {
  try {
    const config = loadConfig(env, root);
    return { config, findings: [...toFindings(config), ...access(config)] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const findings = error.faults.map((fault) => fail('config', fault, 'correct the key or the variable'));
    return { config: undefined, findings };
  }
}

/** Warnings and notices contain their own advice, after the last semicolon. */
function toFindings({ warnings, notices, models }: Config): readonly Finding[] {
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
      `no sign-in, on ${host}: everybody who reaches the port is administrator`,
      'set CARIBOU_API_KEYS or auth.enabled, or let only a trusted proxy reach it',
    ),
  ];
}

function signIn({ http: { apiKeys, host }, auth }: Pick<Config, 'http' | 'auth'>): Finding {
  const text = `sign-in with accounts, ${apiKeys.length} API keys, on ${host}`;
  if (!auth.allowRegistration || isLoopback(host)) return ok('access', text);
  return warn(
    'access',
    `${text}: everybody who reaches the port may create an account`,
    'set auth.local.allow_registration to false once everybody has one',
  );
}

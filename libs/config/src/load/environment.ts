import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { isSentinelUrl, parseSentinelUrl, UserId } from '@caribou/contracts';
import { readPathVariable } from '../deerflow/path-variables.js';
import type { ApiKey, HttpConfig } from '../settings/config.js';
import { normalizeLogLevel, logLevels } from '../schema/file-schema.js';
import type { Findings } from '../common/findings.js';
import { type Environment, variable } from '../common/references.js';
import { Secret } from '../common/secret.js';
import { readRunDirectory } from './run-directory.js';

/** Settings from the environment; undefined where config.yaml decides. */
export interface EnvironmentSettings {
  readonly http: HttpConfig;
  readonly natsUrl: string;
  readonly redisUrl: string;
  readonly redisFsync: 'everysec' | 'always';
  readonly homeDir: string;
  readonly runDir: string;
  readonly extensionsConfigPath: string;
  readonly logLevel: (typeof logLevels)[number] | undefined;
  readonly healthHost: string;
  readonly healthPort: number;
  /** The address of the pod that this process runs in. */
  readonly podIp: string | undefined;
  readonly otlpEndpoint: string | undefined;
}

interface ReadContext {
  readonly env: Environment;
  readonly cwd: string;
  readonly findings: Findings;
}

const BODY_LIMIT_BYTES = 20 * 1024 * 1024;
const LOOPBACK = '127.0.0.1';
/** A name of DNS, whose last label is no number (RFC 1123), or it would be a mistyped address. */
const HOST_NAME = /^(?=.{1,253}$)(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)*(?!\d+$)[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/i;

/**
 * Reads the environment; an invalid value is added to the findings and replaced by its default.
 *
 * @param signIn whether users sign in
 */
export function readEnvironment(context: ReadContext, signIn: boolean): EnvironmentSettings {
  return {
    http: readHttp(context, signIn),
    natsUrl: urlsOf(context, 'NATS_URL', ['nats', 'tls', 'ws', 'wss']) ?? 'nats://127.0.0.1:4222',
    redisUrl: redisUrlOf(context) ?? 'redis://127.0.0.1:6379',
    redisFsync: oneOf(context, 'REDIS_FSYNC', ['everysec', 'always'] as const) ?? 'everysec',
    homeDir: readPathVariable(context, 'CARIBOU_HOME')?.path ?? resolve(context.cwd, '.caribou'),
    runDir: readRunDirectory(context),
    extensionsConfigPath:
      readPathVariable(context, 'CARIBOU_EXTENSIONS_CONFIG')?.path ?? resolve(context.cwd, 'extensions_config.json'),
    logLevel: oneOf(context, 'LOG_LEVEL', logLevels),
    healthHost: healthHostOf(context),
    healthPort: portOf(context, 'CARIBOU_HEALTH_PORT') ?? 0,
    podIp: podIpOf(context),
    otlpEndpoint: urlOf(context, 'OTEL_EXPORTER_OTLP_ENDPOINT', ['http', 'https']),
  };
}

function readHttp(context: ReadContext, signIn: boolean): HttpConfig {
  const apiKeys = readApiKeys(context);
  const allowUnauthenticated = flagOf(context, 'CARIBOU_ALLOW_UNAUTHENTICATED') ?? false;
  const open = apiKeys.length > 0 || allowUnauthenticated;
  return {
    host: hostOf(context, { open, signIn }),
    port: portOf(context, 'PORT') ?? 2026,
    apiKeys,
    allowUnauthenticated,
    corsOrigins: originsOf(context),
    bodyLimitBytes: BODY_LIMIT_BYTES,
  };
}

/**
 * Without authentication the server listens on loopback only, because shells also set HOST to the machine's name. With
 * sign-in it leaves loopback only when HOST is set: the first user to register becomes the administrator.
 */
function hostOf({ env, findings }: ReadContext, { open, signIn }: { open: boolean; signIn: boolean }): string {
  const host = variable(env, 'HOST');
  if (open) return host ?? '0.0.0.0';
  if (signIn) return host ?? LOOPBACK;
  if (host === undefined || host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host))
    return host ?? LOOPBACK;
  findings.warnings.push(
    `HOST is not a loopback address and is not used: authentication is off, so the server listens on ${LOOPBACK}; set CARIBOU_API_KEYS, auth.enabled in config.yaml, or CARIBOU_ALLOW_UNAUTHENTICATED=1`,
  );
  return LOOPBACK;
}

/** Where health, readiness and metrics of the services without an API are served; they ask nobody for a key. */
function healthHostOf({ env, findings }: ReadContext): string {
  const name = 'CARIBOU_HEALTH_HOST';
  const host = variable(env, name);
  if (host === undefined) return LOOPBACK;
  if (isIP(host) !== 0 || HOST_NAME.test(host)) return host;
  findings.faults.push(`${name}: must be an IP address or a host name, without a port`);
  return LOOPBACK;
}

/** The address of this pod, by the downward API. */
function podIpOf({ env, findings }: ReadContext): string | undefined {
  const name = 'CARIBOU_POD_IP';
  const address = variable(env, name);
  if (address === undefined || isIP(address) !== 0) return address;
  findings.faults.push(`${name}: must be an IP address`);
  return undefined;
}

function readApiKeys({ env, findings }: ReadContext): readonly ApiKey[] {
  const seen = new Set<string>();
  const keys: ApiKey[] = [];
  for (const [index, entry] of listOf(env, 'CARIBOU_API_KEYS').entries()) {
    const [key = '', userId = '', role, ...rest] = entry.split(':');
    const at = `CARIBOU_API_KEYS: entry ${index + 1}`;
    if (!/^[\x21-\x7e]{8,512}$/.test(key))
      findings.faults.push(`${at}: the key must be 8 to 512 printable ASCII characters without spaces`);
    else if (!UserId.safeParse(userId).success)
      findings.faults.push(
        `${at}: must be key:user or key:user:admin; the user must be 1 to 64 letters, digits, "_" or "-", starting with a letter or digit`,
      );
    else if ((role !== undefined && role !== 'admin') || rest.length > 0)
      findings.faults.push(`${at}: only "admin" may follow the user`);
    else if (seen.has(key)) findings.faults.push(`${at}: an earlier entry has the same key`);
    else keys.push({ key: new Secret(key), userId, admin: role === 'admin' });
    seen.add(key);
  }
  return keys;
}

function originsOf({ env, findings }: ReadContext): readonly string[] {
  return listOf(env, 'CARIBOU_CORS_ORIGINS').filter((origin, index) => {
    if (URL.canParse(origin) && new URL(origin).origin === origin) return true;
    findings.faults.push(
      `CARIBOU_CORS_ORIGINS: entry ${index + 1} must be an origin such as https://app.example.org, without a path`,
    );
    return false;
  });
}

const listOf = (env: Environment, name: string): string[] =>
  (variable(env, name) ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

function portOf({ env, findings }: ReadContext, name: string): number | undefined {
  const value = variable(env, name);
  if (value === undefined) return undefined;
  if (/^\d{1,5}$/.test(value) && Number(value) <= 65_535) return Number(value);
  findings.faults.push(`${name}: must be a port number from 0 (any free one) to 65535`);
  return undefined;
}

function flagOf({ env, findings }: ReadContext, name: string): boolean | undefined {
  const value = variable(env, name)?.toLowerCase();
  if (value === undefined) return undefined;
  if (value === '1' || value === 'true') return true;
  if (value !== '0' && value !== 'false') findings.faults.push(`${name}: must be 1 or 0`);
  return false;
}

function oneOf<T extends string>({ env, findings }: ReadContext, name: string, allowed: readonly T[]): T | undefined {
  const text = variable(env, name);
  const value = text === undefined ? undefined : normalizeLogLevel(text);
  const found = allowed.find((option) => option === value);
  if (value !== undefined && found === undefined) findings.faults.push(`${name}: must be one of ${allowed.join(', ')}`);
  return found;
}

/** Reads one URL with one of the schemes. */
function urlOf(context: ReadContext, name: string, schemes: readonly string[]): string | undefined {
  return checkUrls(context, { name, schemes, split: (value) => [value] });
}

/** Reads one URL or a comma-separated list, each with one of the schemes. */
function urlsOf(context: ReadContext, name: string, schemes: readonly string[]): string | undefined {
  return checkUrls(context, { name, schemes, split: (value) => value.split(',') });
}

/** Reads the URL of one server, or that of Sentinels; refuses another list, which the client would take for one host name. */
function redisUrlOf(context: ReadContext): string | undefined {
  const name = 'REDIS_URL';
  const value = variable(context.env, name);
  if (value !== undefined && isSentinelUrl(value)) return sentinelUrlOf(context, value);
  const authority =
    value
      ?.replace(/^[a-z]+:\/\//, '')
      .split('@')
      .at(-1) ?? '';
  if (!authority.includes(',')) return urlOf(context, name, ['redis', 'rediss']);
  context.findings.faults.push(
    `${name}: must be the URL of one server, not a list; for a failover name the Sentinels as redis+sentinel://host:port,host:port/name, or an address that follows the primary`,
  );
  return undefined;
}

function sentinelUrlOf({ findings }: ReadContext, url: string): string | undefined {
  const address = parseSentinelUrl(url);
  if (!('fault' in address)) return url;
  findings.faults.push(`REDIS_URL: ${address.fault}`);
  return undefined;
}

interface UrlRule {
  readonly name: string;
  readonly schemes: readonly string[];
  readonly split: (value: string) => readonly string[];
}

function checkUrls({ env, findings }: ReadContext, { name, schemes, split }: UrlRule): string | undefined {
  const value = variable(env, name);
  if (value === undefined) return undefined;
  const good = split(value).every(
    (url) => URL.canParse(url.trim()) && schemes.includes(new URL(url.trim()).protocol.slice(0, -1)),
  );
  if (good) return value;
  findings.faults.push(
    `${name}: must be a URL that starts with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
  );
  return undefined;
}

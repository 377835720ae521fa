import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { ConfigError } from '../common/config-error.js';
import { Secret } from '../common/secret.js';

/** Access to the API server of a cluster. */
export interface KubeconfigAccess {
  /** https, or http for a server on this machine; without a path's final slash. */
  readonly server: string;
  /** Certificates of authorities, PEM; absent: those of the system. */
  readonly ca?: string;
  readonly token?: Secret;
  /** A file with the token, which is read again when it changes. */
  readonly tokenFile?: string;
  /** Certificate and key of the client, PEM. */
  readonly cert?: string;
  readonly key?: Secret;
}

const MAX_BYTES = 1_048_576;

const Cluster = z.object({
  server: z.url({ protocol: /^https?$/ }),
  'certificate-authority': z.string().optional(),
  'certificate-authority-data': z.base64().optional(),
  'insecure-skip-tls-verify': z.boolean().optional(),
});
const User = z.object({
  token: z.string().optional(),
  tokenFile: z.string().optional(),
  'client-certificate': z.string().optional(),
  'client-certificate-data': z.base64().optional(),
  'client-key': z.string().optional(),
  'client-key-data': z.base64().optional(),
  exec: z.unknown().optional(),
  'auth-provider': z.unknown().optional(),
});
const Kubeconfig = z.object({
  'current-context': z.string().min(1),
  contexts: z.array(z.object({ name: z.string(), context: z.object({ cluster: z.string(), user: z.string() }) })),
  clusters: z.array(z.object({ name: z.string(), cluster: Cluster })),
  users: z.array(z.object({ name: z.string(), user: User })),
});
type Kubeconfig = z.output<typeof Kubeconfig>;

/**
 * Reads the access of the current context.
 *
 * @throws {ConfigError} when the file cannot be read, is no kubeconfig, or asks for what is not supported: programs
 * that make tokens, or a server without a checked certificate
 */
export function readKubeconfig(path: string): KubeconfigAccess {
  const file = parseFile(path);
  const context = named(file.contexts, file['current-context'], 'contexts').context;
  const { cluster } = named(file.clusters, context.cluster, 'clusters');
  const { user } = named(file.users, context.user, 'users');
  if (cluster['insecure-skip-tls-verify'] === true)
    throw fault('insecure-skip-tls-verify is not supported: name certificate-authority');
  if (user.exec !== undefined || user['auth-provider'] !== undefined)
    throw fault('exec and auth-provider are not supported: use token, tokenFile or client-certificate');
  const read = (name: string): string => readText(resolve(dirname(path), name));
  const pem = (data: string | undefined, name: string | undefined): string | undefined =>
    data !== undefined ? Buffer.from(data, 'base64').toString('utf8') : name === undefined ? undefined : read(name);
  const ca = pem(cluster['certificate-authority-data'], cluster['certificate-authority']);
  const cert = pem(user['client-certificate-data'], user['client-certificate']);
  const key = pem(user['client-key-data'], user['client-key']);
  return {
    server: cluster.server.replace(/\/+$/, ''),
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key: new Secret(key) }),
    ...(user.token === undefined ? {} : { token: new Secret(user.token) }),
    ...(user.tokenFile === undefined ? {} : { tokenFile: resolve(dirname(path), user.tokenFile) }),
  };
}

function parseFile(path: string): Kubeconfig {
  const text = readText(path);
  let value: unknown;
  try {
    value = parse(text, { maxAliasCount: 0 });
  } catch {
    // The parser's message quotes the line, which may have a token.
    throw fault('the file is not valid YAML');
  }
  const parsed = Kubeconfig.safeParse(value);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map(({ path: at, message }) => `${at.join('.')}: ${message}`);
  throw new ConfigError(fields.map((field) => `sandbox.kubernetes.kubeconfig: ${field}`));
}

function readText(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unknown error';
    throw fault(`cannot be read (${code})`);
  }
  if (text.length > MAX_BYTES) throw fault(`a file has more than ${MAX_BYTES} characters`);
  return text;
}

function named<T extends { readonly name: string }>(entries: readonly T[], name: string, list: string): T {
  const found = entries.find((entry) => entry.name === name);
  if (found === undefined) throw fault(`${list} has no entry ${JSON.stringify(name)}`);
  return found;
}

const fault = (text: string): ConfigError => new ConfigError([`sandbox.kubernetes.kubeconfig: ${text}`]);

import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type ServiceName, serviceNames, omitUndefined } from '@caribou/contracts';
import { natsChartValues, natsConfig } from './nats-config.js';
import { addressOf, ADMIN, HEALTH, newPasswords, type Passwords } from './passwords.js';
import { redisConfig } from './redis-config.js';

/**
 * Writes the configurations and addresses of servers and services: a folder for each below `--out`, with files that only
 * its owner may read. Passwords of an earlier call are reused, so that it may be called at every start.
 *
 *   nats/nats.conf, redis/redis.conf, redis/health.password
 *   nats/chart-values.json                        the users, for the Helm chart of NATS
 *   <service>/nats.url, <service>/redis.url       for NATS_URL_FILE and REDIS_URL_FILE
 *   admin/nats.url, admin/redis.url, admin/passwords.json
 */
const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    /** The addresses at which the servers listen, and at which clients reach them; the same by default. */
    'nats-listen': { type: 'string' },
    'nats-at': { type: 'string' },
    'nats-store': { type: 'string' },
    'nats-monitoring': { type: 'string' },
    'redis-listen': { type: 'string' },
    'redis-at': { type: 'string' },
    'redis-store': { type: 'string' },
    'redis-fsync': { type: 'string' },
    'redis-max-memory': { type: 'string', default: '2gb' },
    /** `folder=uid`: the owner of a folder, when that is not the caller. */
    owner: { type: 'string', multiple: true, default: [] },
  },
});

type Option = Exclude<keyof typeof values, 'owner'>;

function requireOption(name: Option): string {
  const value = values[name];
  if (value === undefined) throw new Error(`--${name} is missing`);
  return value;
}

const owners = new Map(
  values.owner.map((entry) => {
    const [folder = '', uid = ''] = entry.split('=');
    return [folder, Number(uid)] as const;
  }),
);

/** Writes a file that only the owner of its folder may read. */
function put(folder: string, name: string, text: string): void {
  const path = join(requireOption('out'), folder, name);
  writeFileSync(path, text, { mode: 0o600 });
  const uid = owners.get(folder);
  if (uid !== undefined) chownSync(path, uid, uid);
}

function makeFolders(): void {
  for (const folder of ['nats', 'redis', ADMIN, ...serviceNames]) {
    const path = join(requireOption('out'), folder);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const uid = owners.get(folder);
    if (uid !== undefined) chownSync(path, uid, uid);
  }
}

/** Reads the passwords of an earlier call and adds new ones for further users. */
function passwordsOf(file: string): Passwords {
  try {
    const known: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return { ...newPasswords(), ...(typeof known === 'object' ? known : {}) };
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return newPasswords();
    throw cause;
  }
}

function putServers(passwords: Passwords): void {
  const monitoring = values['nats-monitoring'];
  const nats = {
    listen: requireOption('nats-listen'),
    storeDir: requireOption('nats-store'),
    ...omitUndefined({ monitoring }),
  };
  const listen = requireOption('redis-listen');
  const border = listen.lastIndexOf(':');
  const redis = {
    bind: listen.slice(0, border),
    port: Number(listen.slice(border + 1)),
    dataDir: requireOption('redis-store'),
    maxMemory: values['redis-max-memory'],
    fsync: values['redis-fsync'] === 'always' ? 'always' : 'everysec',
  } as const;
  put('nats', 'nats.conf', natsConfig(nats, passwords));
  put('nats', 'chart-values.json', natsChartValues(passwords));
  put('redis', 'redis.conf', redisConfig(redis, passwords));
  put('redis', 'health.password', passwords[HEALTH]);
}

function putAddresses(user: ServiceName | typeof ADMIN, password: string): void {
  const login = { user, password };
  put(user, 'nats.url', `${addressOf('nats', values['nats-at'] ?? requireOption('nats-listen'), login)}\n`);
  put(user, 'redis.url', `${addressOf('redis', values['redis-at'] ?? requireOption('redis-listen'), login)}\n`);
}

makeFolders();
const passwords = passwordsOf(join(requireOption('out'), ADMIN, 'passwords.json'));
put(ADMIN, 'passwords.json', `${JSON.stringify(passwords)}\n`);
putServers(passwords);
for (const user of [ADMIN, ...serviceNames] as const) putAddresses(user, passwords[user]);
process.stdout.write(`users of NATS and Redis: ${serviceNames.join(', ')}\n`);

import { createHash } from 'node:crypto';
import { serviceNames } from '@caribou/contracts';
import { storeAccess } from '@caribou/state';
import { ADMIN, HEALTH, type Passwords } from './passwords.js';

export interface RedisServerSettings {
  readonly bind: string;
  readonly port: number;
  readonly dataDir: string;
  readonly fsync: 'everysec' | 'always';
  /** In the format of redis.conf, such as 2gb; default: no limit. */
  readonly maxMemory?: string;
}

/**
 * Builds the configuration of a redis-server that refuses writes instead of dropping data when it is full, with a user per
 * service, with the rights of `storeAccess`, and an administrator. It contains passwords only as hashes.
 */
export function redisConfig(
  { bind, port, dataDir, fsync, maxMemory }: RedisServerSettings,
  passwords: Passwords,
): string {
  const lines = [
    `bind ${bind}`,
    `port ${port}`,
    // Every connection needs a password.
    'protected-mode no',
    `dir ${JSON.stringify(dataDir)}`,
    'appendonly yes',
    `appendfsync ${fsync}`,
    'save ""',
    ...(maxMemory === undefined ? [] : [`maxmemory ${maxMemory}`]),
    'maxmemory-policy noeviction',
    ...redisUsers(passwords),
  ];
  return `${lines.join('\n')}\n`;
}

/**
 * The users, as lines of a redis.conf. The default user cannot log in, but it needs all rights: Redis reads its
 * append-only file as that user, and drops the transactions and scripts in it that the user may not run (7.0.15).
 */
export function redisUsers(passwords: Passwords): readonly string[] {
  const user = (name: string, password: string, rules: readonly string[]): string =>
    ['user', name, 'on', `#${createHash('sha256').update(password).digest('hex')}`, ...rules].join(' ');
  return [
    'user default off resetpass ~* &* +@all',
    user(ADMIN, passwords[ADMIN], ['~*', '&*', '+@all']),
    user(HEALTH, passwords[HEALTH], ['resetkeys', 'resetchannels', '-@all', '+ping']),
    ...serviceNames.map((name) => user(name, passwords[name], storeAccess(name))),
  ];
}

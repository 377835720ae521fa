import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rootInMemory } from '../util/root-in-memory.js';
import { firstBytes } from './ports.js';
import { startServer, type TestServer } from './server-process.js';

export interface RedisOptions {
  /** Append-only file, every second; default true. A kill -9 of the server loses nothing then, while the disk is not slow. */
  readonly appendonly?: boolean;
  /** More arguments of redis-server, such as `['--maxmemory', '50mb']`. */
  readonly args?: readonly string[];
  /** The whole configuration file instead of the above. */
  readonly config?: (server: { readonly port: number; readonly dataDir: string }) => string;
  /** The user for a PING when that configuration requires a password. */
  readonly login?: { readonly user: string; readonly password: string };
}

/** A real redis-server, `noeviction`. */
export function startRedis({ appendonly = true, args = [], config, login }: RedisOptions = {}): Promise<TestServer> {
  const signIn = login === undefined ? '' : `AUTH ${login.user} ${login.password}\r\n`;
  return startServer({
    name: 'redis',
    scheme: 'redis',
    // A kill of the server must not depend on the disk.
    dataRoot: rootInMemory(),
    command: async ({ port, dataDir }) => {
      if (config !== undefined) {
        const file = join(dataDir, 'redis.conf');
        await writeFile(file, config({ port, dataDir }));
        return ['redis-server', file];
      }
      return [
        'redis-server',
        ...['--port', String(port), '--bind', '127.0.0.1', '--dir', dataDir, '--save', ''],
        ...['--appendonly', appendonly ? 'yes' : 'no', '--appendfsync', 'everysec', '--maxmemory-policy', 'noeviction'],
        ...args,
      ];
    },
    isReady: async (port) => (await firstBytes(port, `${signIn}PING\r\n`)).includes('+PONG'),
  });
}

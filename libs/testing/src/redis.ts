import { firstBytes } from './ports.js';
import { startServer, type TestServer } from './server-process.js';

export interface RedisOptions {
  /** Append-only file, every second; default true. A kill -9 of the server loses nothing then. */
  readonly appendonly?: boolean;
  /** More arguments of redis-server, such as `['--maxmemory', '50mb']`. */
  readonly args?: readonly string[];
}

/** A real redis-server, `noeviction`. */
export function startRedis({ appendonly = true, args = [] }: RedisOptions = {}): Promise<TestServer> {
  return startServer({
    name: 'redis',
    scheme: 'redis',
    command: ({ port, dataDir }) => [
      'redis-server',
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', dataDir, '--save', ''],
      ...['--appendonly', appendonly ? 'yes' : 'no', '--appendfsync', 'everysec', '--maxmemory-policy', 'noeviction'],
      ...args,
    ],
    isReady: async (port) => (await firstBytes(port, 'PING\r\n')).startsWith('+PONG'),
  });
}

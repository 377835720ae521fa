import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rootInMemory } from '../util/root-in-memory.js';
import { waitFor } from '../util/wait-for.js';
import { firstBytes } from './ports.js';
import { startServer, type TestServer } from './server-process.js';

/** A primary and a replica, each of which may become the other, and three Sentinels that watch them, with passwords. */
export interface RedisSentinels {
  readonly primary: TestServer;
  readonly replica: TestServer;
  readonly sentinels: readonly TestServer[];
  /** The address of the Sentinels, for `createRedis`. */
  readonly url: string;
  readonly password: string;
  readonly sentinelPassword: string;
  stop(): Promise<void>;
}

const GROUP = 'main';
const PASSWORD = 'of-redis';
const SENTINEL_PASSWORD = 'of-sentinels';
/** How long a primary is silent before it is replaced. */
const DOWN_AFTER_MS = 1_000;
/** For how long a Sentinel that was stalled by a busy machine does nothing, instead of half a minute. */
const TILT_MS = 2_000;

/** Real servers; the replica is in sync and known to all Sentinels, and these to each other, when they are returned. */
export async function startRedisSentinels(): Promise<RedisSentinels> {
  const primary = await startNode();
  const replica = await startNode(primary);
  const sentinels = await Promise.all(Array.from({ length: 3 }, () => startSentinel(primary)));
  const knowAll = async (): Promise<boolean> =>
    (await Promise.all(sentinels.map(({ port }) => knows(port, replica.port)))).every(Boolean);
  await waitFor(knowAll, { what: 'the Sentinels to know each other and the replica', everyMs: 100 });
  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return {
    primary,
    replica,
    sentinels,
    url: `redis+sentinel://:${PASSWORD}@${hosts}/${GROUP}`,
    password: PASSWORD,
    sentinelPassword: SENTINEL_PASSWORD,
    stop: async () => {
      await Promise.all([...sentinels, replica, primary].map((server) => server.stop()));
    },
  };
}

async function knows(port: number, replicaPort: number): Promise<boolean> {
  const ask = (question: string): Promise<string> => firstBytes(port, `AUTH ${SENTINEL_PASSWORD}\r\n${question}\r\n`);
  const [quorum, replicas] = await Promise.all([
    ask(`SENTINEL CKQUORUM ${GROUP}`),
    ask(`SENTINEL REPLICAS ${GROUP}`),
    ask(`SENTINEL DEBUG tilt-period ${TILT_MS}`),
  ]);
  return quorum.includes('OK 3 usable') && replicas.includes(`127.0.0.1:${replicaPort}`);
}

/** @param of the primary that it follows */
function startNode(of?: TestServer): Promise<TestServer> {
  return startServer({
    name: 'redis',
    scheme: 'redis',
    dataRoot: rootInMemory(),
    command: ({ port, dataDir }) => [
      ...['redis-server', '--port', String(port), '--bind', '127.0.0.1', '--dir', dataDir, '--save', ''],
      ...['--appendonly', 'yes', '--maxmemory-policy', 'noeviction', '--repl-diskless-sync-delay', '0'],
      ...['--requirepass', PASSWORD, '--masterauth', PASSWORD],
      ...(of === undefined ? [] : ['--replicaof', '127.0.0.1', String(of.port)]),
    ],
    isReady: async (port) => {
      const answer = await firstBytes(port, `AUTH ${PASSWORD}\r\nINFO replication\r\nPING\r\n`);
      return answer.includes('+PONG') && (of === undefined || answer.includes('master_link_status:up'));
    },
  });
}

/** Its configuration is a file that it writes itself; after a restart it begins with the first primary again. */
function startSentinel(primary: TestServer): Promise<TestServer> {
  return startServer({
    name: 'sentinel',
    scheme: 'redis',
    dataRoot: rootInMemory(),
    command: async ({ port, dataDir }) => {
      const file = join(dataDir, 'sentinel.conf');
      const lines = [
        `port ${port}`,
        'bind 127.0.0.1',
        `dir ${dataDir}`,
        `requirepass ${SENTINEL_PASSWORD}`,
        `sentinel sentinel-pass ${SENTINEL_PASSWORD}`,
        `sentinel monitor ${GROUP} 127.0.0.1 ${primary.port} 2`,
        `sentinel auth-pass ${GROUP} ${PASSWORD}`,
        `sentinel down-after-milliseconds ${GROUP} ${DOWN_AFTER_MS}`,
        `sentinel failover-timeout ${GROUP} 5000`,
        `sentinel parallel-syncs ${GROUP} 1`,
      ];
      await writeFile(file, `${lines.join('\n')}\n`);
      return ['redis-server', file, '--sentinel'];
    },
    isReady: async (port) => (await firstBytes(port, `AUTH ${SENTINEL_PASSWORD}\r\nPING\r\n`)).includes('+PONG'),
  });
}

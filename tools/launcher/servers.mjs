import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './free-port.mjs';
import { answersWith, waitUntil } from './wait-until.mjs';

const readyTimeoutMs = 60_000;

/**
 * Plans for private servers: on 127.0.0.1 at a free port, with a password that is made anew for each start and stands
 * only in a file that no other user may read.
 *
 * @typedef {object} ServerPlan
 * @property {string} url with user and password; never printed
 * @property {string} where what may be printed
 * @property {Pick<import('./managed-process.mjs').ProcessPlan, 'name' | 'file' | 'args' | 'untilReady' | 'readyTimeoutMs' | 'quiet' | 'ipc'>} process
 */

/**
 * A nats-server with JetStream in files under `folder`. Messages may have 8 MB; the RPC guard of libs/bus stays below.
 *
 * @param {{ program: string, folder: string }} options
 * @returns {Promise<ServerPlan>}
 */
export async function natsServer({ program, folder }) {
  const port = await freePort();
  const password = randomBytes(24).toString('hex');
  const settings = join(folder, 'nats.conf');
  const store = join(folder, 'nats');
  mkdirSync(store, { recursive: true, mode: 0o700 });
  const lines = [
    `listen: "127.0.0.1:${port}"`,
    'max_payload: 8MB',
    `authorization { user: "caribou", password: "${password}" }`,
    `jetstream { store_dir: ${JSON.stringify(store)} }`,
  ];
  writeFileSync(settings, `${lines.join('\n')}\n`, { mode: 0o600 });
  return {
    url: `nats://caribou:${password}@127.0.0.1:${port}`,
    where: `nats-server on 127.0.0.1:${port}, streams in ${store}`,
    process: {
      name: 'nats-server',
      file: program,
      args: ['-c', settings],
      quiet: true,
      ipc: false,
      readyTimeoutMs,
      untilReady: (_child, signal) => waitUntil(() => answersWith({ port, request: '', expected: 'INFO ' }), signal),
    },
  };
}

/**
 * A redis-server with an append-only file under `folder` that refuses writes instead of dropping data when it is full.
 *
 * @param {{ program: string, folder: string, fsync: string }} options fsync: everysec or always
 * @returns {Promise<ServerPlan>}
 */
export async function redisServer({ program, folder, fsync }) {
  const port = await freePort();
  const password = randomBytes(24).toString('hex');
  const settings = join(folder, 'redis.conf');
  const store = join(folder, 'redis');
  mkdirSync(store, { recursive: true, mode: 0o700 });
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    `dir ${JSON.stringify(store)}`,
    'appendonly yes',
    `appendfsync ${fsync}`,
    'save ""',
    'maxmemory-policy noeviction',
  ];
  writeFileSync(settings, `${lines.join('\n')}\n`, { mode: 0o600 });
  return {
    url: `redis://:${password}@127.0.0.1:${port}`,
    where: `redis-server on 127.0.0.1:${port}, append-only file (${fsync}) in ${store}`,
    process: {
      name: 'redis-server',
      file: program,
      args: [settings],
      quiet: true,
      ipc: false,
      readyTimeoutMs,
      untilReady: (_child, signal) =>
        waitUntil(() => answersWith({ port, request: `AUTH ${password}\r\nPING\r\n`, expected: '+PONG' }), signal),
    },
  };
}

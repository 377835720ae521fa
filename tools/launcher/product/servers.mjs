import { chmodSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../machine/free-port.mjs';
import { inRepository } from '../repository.mjs';
import { runScript } from '../processes/run-script.mjs';
import { answersWith, waitUntil } from '../processes/wait-until.mjs';

const readyTimeoutMs = 60_000;

/**
 * Plans for private servers: on 127.0.0.1 at a free port, with a user for each service, with only the rights that
 * the service needs. Passwords are generated for each start and stored only in files that no other user may read.
 *
 * @typedef {object} ServerPlan
 * @property {string} where a description without secrets
 * @property {Pick<import('../processes/managed-process.mjs').ProcessPlan, 'name' | 'file' | 'args' | 'untilReady' | 'readyTimeoutMs' | 'quiet' | 'ipc'>} process
 *
 * @typedef {object} Access
 * @property {string} folder of the configurations and addresses, see tools/access/main.ts
 * @property {number} natsPort
 * @property {number} redisPort
 */

/**
 * Generates the users and writes the servers' configurations; needs the build.
 *
 * @param {import('./settings.mjs').LauncherSettings} settings
 * @param {AbortSignal} signal
 * @returns {Promise<Access>}
 */
export async function makeAccess({ own, access, redisFsync, redisMaxMemory }, signal) {
  const [natsPort, redisPort] = [await freePort(), await freePort()];
  rmSync(access, { recursive: true, force: true });
  for (const folder of [join(own, 'nats'), join(own, 'redis'), access]) makePrivateFolder(folder);
  const options = {
    out: access,
    'nats-listen': `127.0.0.1:${natsPort}`,
    'nats-store': join(own, 'nats'),
    'redis-listen': `127.0.0.1:${redisPort}`,
    'redis-store': join(own, 'redis'),
    'redis-fsync': redisFsync,
    'redis-max-memory': redisMaxMemory,
  };
  const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  await runScript([inRepository('dist', 'tools', 'access', 'main.js'), ...args], { signal });
  return { folder: access, natsPort, redisPort };
}

/** Sets the rights also of an existing folder, which may be readable by others. @param {string} path */
function makePrivateFolder(path) {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  chmodSync(path, 0o700);
}

/**
 * A nats-server with JetStream in files. Messages may have 8 MB; the RPC guard of libs/bus stays below.
 *
 * @param {string} program
 * @param {Access} access
 * @returns {ServerPlan}
 */
export function natsServer(program, { folder, natsPort: port }) {
  return {
    where: `nats-server on 127.0.0.1:${port}`,
    process: {
      name: 'nats-server',
      file: program,
      args: ['-c', join(folder, 'nats', 'nats.conf')],
      quiet: true,
      ipc: false,
      readyTimeoutMs,
      untilReady: (_child, signal) => waitUntil(() => answersWith({ port, request: '', expected: 'INFO ' }), signal),
    },
  };
}

/**
 * A redis-server with an append-only file that refuses writes instead of dropping data when it is full.
 *
 * @param {string} program
 * @param {Access} access
 * @returns {ServerPlan}
 */
export function redisServer(program, { folder, redisPort: port }) {
  const password = readFileSync(join(folder, 'redis', 'health.password'), 'utf8');
  const request = `AUTH health ${password}\r\nPING\r\n`;
  return {
    where: `redis-server on 127.0.0.1:${port}`,
    process: {
      name: 'redis-server',
      file: program,
      args: [join(folder, 'redis', 'redis.conf')],
      quiet: true,
      ipc: false,
      readyTimeoutMs,
      untilReady: (_child, signal) => waitUntil(() => answersWith({ port, request, expected: '+PONG' }), signal),
    },
  };
}

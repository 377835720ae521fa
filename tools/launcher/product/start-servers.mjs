import { findProgram, libraryEnvironment, searchPath } from '../machine/programs.mjs';
import { makeAccess, natsServer, redisServer } from './servers.mjs';
import { installPrograms } from '../machine/system-packages.mjs';
import { LauncherError, step, warn } from '../processes/terminal.mjs';
import { runTogether } from '../processes/run-together.mjs';

/**
 * Starts private servers unless NATS_URL and REDIS_URL name the operator's own. Needs the programs and the build.
 *
 * @param {{ settings: import('./settings.mjs').LauncherSettings, fleet: import('./fleet.mjs').Fleet, signal: AbortSignal }} start
 * @returns {Promise<string[]>} descriptions of the servers without secrets
 * @throws {LauncherError} when a server does not start
 */
export async function startServers({ settings, fleet, signal }) {
  const { unpacked, own, redisFsync, ownNats, ownRedis } = settings;
  const path = searchPath(unpacked);
  const env = { PATH: path, ...libraryEnvironment(unpacked) };
  const access = ownNats && ownRedis ? undefined : await makeAccess(settings, signal);
  const program = (/** @type {string} */ name) => findProgram(name, path) ?? name;
  const nats = ownNats || access === undefined ? undefined : natsServer(program('nats-server'), access);
  const redis = ownRedis || access === undefined ? undefined : redisServer(program('redis-server'), access);
  const plans = [nats, redis].filter((plan) => plan !== undefined);
  if (plans.length > 0) {
    const names = plans.map((plan) => plan.process.name).join(', ');
    const starts = plans.map(
      (plan) => (/** @type {AbortSignal} */ inner) => fleet.start(plan.process, { role: 'server', env, signal: inner }),
    );
    await step(`servers: ${names}`, () => runTogether(signal, starts));
  }
  return [
    nats === undefined ? 'NATS as NATS_URL says' : `${nats.where}, streams in ${own}/nats`,
    redis === undefined
      ? 'Redis as REDIS_URL says'
      : `${redis.where}, append-only file (${redisFsync}) in ${own}/redis`,
  ];
}

/**
 * Installs the programs that are missing.
 *
 * @param {import('./settings.mjs').LauncherSettings} settings
 * @param {AbortSignal} signal
 * @throws {LauncherError} when a server is needed and cannot be installed
 */
export async function installServers({ ownNats, ownRedis, unpacked }, signal) {
  /** @type {import('../machine/system-packages.mjs').Program[]} */
  const needed = [];
  if (!ownNats) needed.push('nats-server');
  if (!ownRedis) needed.push('redis-server');
  const missing = await installPrograms({ programs: [...needed, 'bwrap', 'setpriv'], unpacked, signal });
  const lacking = needed.filter((name) => missing.includes(name));
  if (lacking.length > 0) {
    throw new LauncherError(
      `Please install ${lacking.join(' and ')}, or set NATS_URL and REDIS_URL, or use \`docker compose up\`.`,
    );
  }
  if (missing.includes('bwrap')) {
    warn('bubblewrap is not installed: without a Docker engine the agent cannot run commands');
  }
}

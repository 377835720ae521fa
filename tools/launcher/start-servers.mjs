import { findProgram, libraryEnvironment, searchPath } from './programs.mjs';
import { natsServer, redisServer } from './servers.mjs';
import { installPrograms } from './system-packages.mjs';
import { LauncherError, step, warn } from './terminal.mjs';
import { together } from './together.mjs';

/**
 * @typedef {object} Servers
 * @property {string} natsUrl may hold a password
 * @property {string} redisUrl may hold a password
 * @property {string[]} shown what may be printed
 */

/**
 * The operator's own servers where NATS_URL and REDIS_URL name them, private ones otherwise; what they need is installed.
 *
 * @param {{ settings: import('./settings.mjs').LauncherSettings, fleet: import('./fleet.mjs').Fleet, signal: AbortSignal }} start
 * @returns {Promise<Servers>}
 * @throws {LauncherError} when a server cannot be installed or does not start
 */
export async function startServers({ settings, fleet, signal }) {
  await installNeeded(settings, signal);
  const { unpacked, own: folder, redisFsync: fsync } = settings;
  const path = searchPath(unpacked);
  const env = { PATH: path, ...libraryEnvironment(unpacked) };
  const [nats, redis] = await Promise.all([
    settings.natsUrl ?? natsServer({ program: findProgram('nats-server', path) ?? 'nats-server', folder }),
    settings.redisUrl ?? redisServer({ program: findProgram('redis-server', path) ?? 'redis-server', folder, fsync }),
  ]);
  const plans = [nats, redis].filter((server) => typeof server !== 'string');
  if (plans.length > 0) {
    const names = plans.map((plan) => plan.process.name).join(', ');
    const starts = plans.map(
      (plan) => (/** @type {AbortSignal} */ inner) => fleet.start(plan.process, { role: 'server', env, signal: inner }),
    );
    await step(`servers: ${names}`, () => together(signal, starts));
  }
  return {
    natsUrl: typeof nats === 'string' ? nats : nats.url,
    redisUrl: typeof redis === 'string' ? redis : redis.url,
    shown: [
      typeof nats === 'string' ? 'NATS as NATS_URL says' : nats.where,
      typeof redis === 'string' ? 'Redis as REDIS_URL says' : redis.where,
    ],
  };
}

/** @param {import('./settings.mjs').LauncherSettings} settings @param {AbortSignal} signal */
async function installNeeded({ natsUrl, redisUrl, unpacked }, signal) {
  /** @type {import('./system-packages.mjs').Program[]} */
  const needed = [];
  if (natsUrl === undefined) needed.push('nats-server');
  if (redisUrl === undefined) needed.push('redis-server');
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

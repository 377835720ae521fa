import { join } from 'node:path';
import { searchPath } from '../machine/programs.mjs';

/** Variables without secrets that any program may need. */
const ordinary =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_\w+|TZ|TMPDIR|TERM|NODE_\w+|LD_LIBRARY_PATH|SSL_CERT_\w+|XDG_\w+|DOCKER_\w+|LOG_LEVEL)$/;
/** Caribou's own variables, without the API keys, which only the gateway reads. */
const ours = /^(CARIBOU_(?!API_KEYS)\w+|DEER_FLOW_\w+|NATS_\w+|REDIS_\w+)$/;
/** Variables for the operator's own servers; the private ones use neither TLS nor another login than the password. */
const ofOwnServer = (/** @type {'NATS' | 'REDIS'} */ server) =>
  new RegExp(`^${server}_(CA|CERT|KEY|CREDS|NKEY_SEED)(_FILE)?$`);
/** Variables that only the gateway reads. */
const gatewayOnly = ['CARIBOU_API_KEYS', 'CARIBOU_API_KEYS_FILE', 'CARIBOU_CORS_ORIGINS', 'HOST', 'PORT'];

/**
 * @typedef {object} Surroundings
 * @property {import('./settings.mjs').LauncherSettings} settings
 * @property {NodeJS.ProcessEnv} env the launcher's own environment and what the model needs
 */

/**
 * The environment of one service: the servers under its own user, and no secret that it does not use. Sandboxes are
 * started by a process that knows the key of no model and of no provider.
 *
 * @param {string} name
 * @param {Surroundings} surroundings
 * @returns {NodeJS.ProcessEnv}
 */
export function serviceEnvironment(name, { settings, env }) {
  const unused = [
    ...(settings.ownNats ? [] : [ofOwnServer('NATS')]),
    ...(settings.ownRedis ? [] : [ofOwnServer('REDIS')]),
  ];
  const own = Object.fromEntries(
    Object.entries(env).filter(
      ([variable]) => isFor(name, variable) && !unused.some((pattern) => pattern.test(variable)),
    ),
  );
  const file = (/** @type {string} */ kind) => join(settings.access, name, kind);
  return {
    ...own,
    NODE_ENV: env['NODE_ENV'] ?? 'production',
    PATH: searchPath(settings.unpacked),
    CARIBOU_HOME: settings.home,
    CARIBOU_HEALTH_PORT: '0',
    REDIS_FSYNC: settings.redisFsync,
    ...(settings.ownNats ? {} : { NATS_URL: '', NATS_URL_FILE: file('nats.url') }),
    ...(settings.ownRedis ? {} : { REDIS_URL: '', REDIS_URL_FILE: file('redis.url') }),
  };
}

/** @param {string} service @param {string} variable */
function isFor(service, variable) {
  if (service === 'gateway') return true;
  if (service === 'sandbox-manager' || service === 'demo-model') return ordinary.test(variable) || ours.test(variable);
  return !gatewayOnly.includes(variable);
}

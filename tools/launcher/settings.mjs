import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { inRepository, repository } from './repository.mjs';

/**
 * What the launcher itself must know before anything is installed. The rest of the environment is the services'
 * business: they read it through libs/config.
 *
 * @typedef {object} LauncherSettings
 * @property {string} home absolute path of the data folder, CARIBOU_HOME (or DeerFlow's DEER_FLOW_HOME)
 * @property {string | undefined} alias what is to be said of DEER_FLOW_HOME, which the services do not see any more
 * @property {string} own the launcher's part of it: files of NATS and Redis, lock, unpacked programs
 * @property {string} unpacked
 * @property {string | undefined} natsUrl a server of the operator's own
 * @property {string | undefined} redisUrl a server of the operator's own
 * @property {string} redisFsync everysec or always
 */

/** @returns {LauncherSettings} */
export function readSettings() {
  if (existsSync(inRepository('.env'))) process.loadEnvFile(inRepository('.env'));
  const own = value('CARIBOU_HOME');
  const theirs = value('DEER_FLOW_HOME');
  const home = resolve(repository, own ?? theirs ?? '.caribou');
  const servers = join(home, 'servers');
  return {
    home,
    alias: own === undefined && theirs !== undefined ? 'DEER_FLOW_HOME: read as CARIBOU_HOME' : undefined,
    own: servers,
    unpacked: join(servers, 'programs'),
    natsUrl: value('NATS_URL'),
    redisUrl: value('REDIS_URL'),
    redisFsync: value('REDIS_FSYNC') === 'always' ? 'always' : 'everysec',
  };
}

/** An empty variable counts as unset. @param {string} name */
function value(name) {
  const found = process.env[name]?.trim();
  return found === '' ? undefined : found;
}

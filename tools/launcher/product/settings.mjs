import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { inRepository, repository } from '../repository.mjs';

/**
 * The settings that the launcher needs before anything is installed. Services read the rest of the environment through
 * libs/config.
 *
 * @typedef {object} LauncherSettings
 * @property {string} home absolute path of the data folder, CARIBOU_HOME (or DeerFlow's DEER_FLOW_HOME)
 * @property {string | undefined} alias the notice about DEER_FLOW_HOME, which the services do not see
 * @property {string} own the launcher's part of it: files of NATS and Redis, lock, unpacked programs
 * @property {string} unpacked
 * @property {string} access passwords of the private servers' users, and the servers' configurations
 * @property {boolean} ownNats whether NATS_URL (or its file) names the operator's own server
 * @property {boolean} ownRedis the same of REDIS_URL
 * @property {string} redisMaxMemory in the format of redis.conf, such as 2gb
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
    access: join(servers, 'access'),
    redisMaxMemory: value('REDIS_MAXMEMORY') ?? '2gb',
    ownNats: (value('NATS_URL') ?? value('NATS_URL_FILE')) !== undefined,
    ownRedis: (value('REDIS_URL') ?? value('REDIS_URL_FILE')) !== undefined,
    redisFsync: value('REDIS_FSYNC') === 'always' ? 'always' : 'everysec',
  };
}

/** An empty variable counts as unset. @param {string} name */
function value(name) {
  const found = process.env[name]?.trim();
  return found === '' ? undefined : found;
}

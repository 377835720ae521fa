import { pathToFileURL } from 'node:url';
import { inRepository, repository } from './repository.mjs';
import { LauncherError, say, warn } from './terminal.mjs';

/**
 * @typedef {object} ProductConfig the part of libs/config's Config that the launcher shows
 * @property {{ host: string, port: number, apiKeys: unknown[] }} http
 * @property {{ enabled: boolean }} auth
 * @property {{ name: string, model: string, baseUrl: string }[]} models
 * @property {string[]} warnings
 * @property {string[]} notices
 * @property {string[]} problems
 */

/**
 * Reads the configuration with the product's own reader, so that a mistake is told once and before any service starts.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<ProductConfig>}
 * @throws {LauncherError} naming every fault
 */
export async function readProductConfig(env) {
  /** @type {{ default: { loadConfig(env: NodeJS.ProcessEnv, cwd: string): ProductConfig } }} */
  const config = await import(pathToFileURL(inRepository('dist', 'libs', 'config', 'src', 'index.js')).href);
  try {
    return config.default.loadConfig(env, repository);
  } catch (error) {
    throw new LauncherError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** @param {ProductConfig} config */
export function tellWarnings(config) {
  for (const line of config.notices) say(`config: ${line}`);
  for (const line of [...config.warnings, ...config.problems]) warn(`config: ${line}`);
}

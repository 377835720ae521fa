import { inRepository } from '../repository.mjs';
import { runScript } from '../processes/run-script.mjs';
import { say, warn } from '../processes/terminal.mjs';

/**
 * @typedef {object} ProductConfig the part of libs/config's Config that the launcher shows
 * @property {string} host
 * @property {number} port
 * @property {boolean} locked whether the API asks who calls
 * @property {{ name: string, model: string, host: string }[]} models
 * @property {string[]} warnings
 * @property {string[]} notices
 * @property {string[]} problems
 */

/**
 * Reads the configuration with the product's own reader, so that a mistake is reported once and before any service starts.
 *
 * @param {NodeJS.ProcessEnv} env
 * @param {AbortSignal} signal
 * @returns {Promise<ProductConfig>}
 * @throws {LauncherError} naming every fault
 */
export async function readProductConfig(env, signal) {
  const output = await runScript([inRepository('tools', 'launcher', 'product', 'config-facts.cjs')], { env, signal });
  /** @type {ProductConfig} */
  const config = JSON.parse(output);
  return config;
}

/** @param {ProductConfig} config */
export function tellWarnings(config) {
  for (const line of config.notices) say(`config: ${line}`);
  for (const line of [...config.warnings, ...config.problems]) warn(`config: ${line}`);
}

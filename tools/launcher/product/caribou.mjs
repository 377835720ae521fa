import { mkdirSync } from 'node:fs';
import { banner, urlOf } from './banner.mjs';
import { claimDataFolder } from '../processes/data-folder.mjs';
import { createFleet } from './fleet.mjs';
import { freePort, isPortFree } from '../machine/free-port.mjs';
import { installPackages } from '../machine/packages.mjs';
import { readProductConfig, tellWarnings } from './product-config.mjs';
import { searchPath } from '../machine/programs.mjs';
import { inRepository } from '../repository.mjs';
import { runScript } from '../processes/run-script.mjs';
import { serviceEnvironment } from './service-environment.mjs';
import { installServers, startServers } from './start-servers.mjs';
import { demoModelPlan, servicePlan, services } from './services.mjs';
import { readSettings } from './settings.mjs';
import { LauncherError, say, step, warn } from '../processes/terminal.mjs';
import { runTogether } from '../processes/run-together.mjs';
import { waitUntil } from '../processes/wait-until.mjs';

const turnReadyTimeoutMs = 30_000;

/**
 * Starts the whole system, then runs until `signal` aborts, then stops it: services first, then the servers they need.
 *
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 * @throws {LauncherError} when something is missing or does not start; nothing is left running then
 */
export async function runCaribou(signal) {
  const settings = readSettings();
  if (settings.alias !== undefined) say(`config: ${settings.alias}`);
  mkdirSync(settings.home, { recursive: true, mode: 0o755 });
  const folder = await claimDataFolder(settings.own);
  const fleet = createFleet({ path: searchPath(settings.unpacked), record: folder.record });
  try {
    await bringUp({ settings, fleet, signal });
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    say('stopping');
  } finally {
    await fleet.stop();
    folder.release();
    say('everything has stopped');
  }
}

/**
 * @typedef {object} Start
 * @property {import('./settings.mjs').LauncherSettings} settings
 * @property {import('./fleet.mjs').Fleet} fleet
 * @property {AbortSignal} signal
 */

/** @param {Start} start */
async function bringUp({ settings, fleet, signal }) {
  const [build] = await runTogether(signal, [
    (inner) => prepareCode(inner),
    async (inner) => {
      await installServers(settings, inner);
      return '';
    },
  ]);
  say(build);
  const servers = await startServers({ settings, fleet, signal });
  const { config, model, modelEnv } = await chooseModel({ settings, fleet, signal });
  tellWarnings(config);
  const { host, locked } = config;
  const port = config.port === 0 ? await freePort() : config.port;
  if (!(await isPortFree(port, host))) throw new LauncherError(`Port ${port} is taken. Set PORT to another one.`);
  const url = urlOf(host, port);
  const env = { ...process.env, ...modelEnv, PORT: String(port) };
  const running = await startServices({ settings, fleet, signal }, env);
  await reportReadiness(url, signal);
  const facts = { url, model, home: settings.home, locked, servers };
  process.stdout.write(`${banner({ ...facts, services: running })}\n`);
}

/**
 * Starts the five services at once and gives one line for each.
 *
 * @param {Start} start
 * @param {NodeJS.ProcessEnv} env
 */
async function startServices({ settings, fleet, signal }, env) {
  /** @type {Map<string, number>} */
  const healthPorts = new Map();
  const starts = services.map((name) => (/** @type {AbortSignal} */ inner) => {
    const plan = servicePlan(name, (healthPort) => healthPorts.set(name, healthPort));
    return fleet.start(plan, { role: 'service', env: serviceEnvironment(name, { settings, env }), signal: inner });
  });
  await step(`services: ${services.join(', ')}`, () => runTogether(signal, starts));
  const healthHost = (/** @type {string} */ name) =>
    (name === 'gateway' ? undefined : env['CARIBOU_HEALTH_HOST']) || '127.0.0.1';
  return services.map((name) => `${name.padEnd(17)}health on ${healthHost(name)}:${healthPorts.get(name)}`);
}

/** npm's packages, then the build: the first needs nothing, the second the first. @param {AbortSignal} signal */
async function prepareCode(signal) {
  await installPackages({ dev: false, signal });
  return await runScript([inRepository('tools', 'build', 'product.mjs')], { signal });
}

/**
 * The model of the configuration, or the demo model when none is configured.
 *
 * @param {Start} start
 */
async function chooseModel({ settings, fleet, signal }) {
  const { env: own } = process;
  const config = await readProductConfig(serviceEnvironment('gateway', { settings, env: own }), signal);
  const first = config.models[0];
  if (first !== undefined) return { config, model: `${first.name} (${first.model} at ${first.host})`, modelEnv: {} };
  const demo = await demoModelPlan();
  const env = serviceEnvironment('demo-model', { settings, env: own });
  await step('demo model', () =>
    runTogether(signal, [(inner) => fleet.start(demo.plan, { role: 'service', env, signal: inner })]),
  );
  return {
    config: await readProductConfig(serviceEnvironment('gateway', { settings, env: { ...own, ...demo.env } }), signal),
    model: 'the scripted DEMO model, not an AI. Set OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL) for a real one',
    modelEnv: demo.env,
  };
}

/** Waits until a turn can run; otherwise reports what the gateway finds missing. @param {string} url @param {AbortSignal} signal */
async function reportReadiness(url, signal) {
  const late = AbortSignal.timeout(turnReadyTimeoutMs);
  let answer = '';
  const ready = async () => {
    const response = await fetch(`${url}/ready`, { signal: AbortSignal.timeout(5_000) });
    answer = await response.text();
    return response.ok;
  };
  try {
    await waitUntil(ready, AbortSignal.any([signal, late]));
  } catch (error) {
    if (!late.aborted) throw error;
    warn(`not ready for a turn yet: ${answer}`);
  }
}

import { mkdirSync } from 'node:fs';
import { banner, urlOf } from './banner.mjs';
import { claimDataFolder } from './data-folder.mjs';
import { createFleet } from './fleet.mjs';
import { freePort, isPortFree } from './free-port.mjs';
import { installPackages } from './packages.mjs';
import { readProductConfig, tellWarnings } from './product-config.mjs';
import { searchPath } from './programs.mjs';
import { repository } from './repository.mjs';
import { startServers } from './start-servers.mjs';
import { demoModelPlan, servicePlan, services } from './services.mjs';
import { readSettings } from './settings.mjs';
import { LauncherError, say, step, warn } from './terminal.mjs';
import { together } from './together.mjs';
import { waitUntil } from './wait-until.mjs';

const turnReadyTimeoutMs = 30_000;

/**
 * Brings the whole system up and says so, then runs until `signal` aborts, then takes it down: services first, then the
 * servers they need.
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
  const [servers, build] = await together(signal, [
    (inner) => startServers({ settings, fleet, signal: inner }),
    (inner) => prepareCode(inner),
  ]);
  say(build);
  const env = serviceEnvironment(settings, servers);
  const { config, model, modelEnv } = await chooseModel({ settings, fleet, signal }, env);
  tellWarnings(config);
  const { host } = config.http;
  const port = config.http.port === 0 ? await freePort() : config.http.port;
  if (!(await isPortFree(port, host))) throw new LauncherError(`Port ${port} is taken. Set PORT to another one.`);
  const url = urlOf(host, port);
  const running = await startServices({ settings, fleet, signal }, { ...env, ...modelEnv, PORT: String(port) });
  await tellReadiness(url, signal);
  const locked = config.http.apiKeys.length > 0 || config.auth.enabled;
  const facts = { url, model, home: settings.home, locked, servers: servers.shown };
  process.stdout.write(`${banner({ ...facts, services: running })}\n`);
}

/**
 * Starts the five services at once and gives one line for each.
 *
 * @param {Start} start
 * @param {NodeJS.ProcessEnv} env
 */
async function startServices({ fleet, signal }, env) {
  /** @type {Map<string, number>} */
  const healthPorts = new Map();
  const starts = services.map((name) => (/** @type {AbortSignal} */ inner) => {
    const plan = servicePlan(name, (healthPort) => healthPorts.set(name, healthPort));
    return fleet.start(plan, { role: 'service', env, signal: inner });
  });
  await step(`services: ${services.join(', ')}`, () => together(signal, starts));
  return services.map((name) => `${name.padEnd(17)}health on 127.0.0.1:${healthPorts.get(name)}`);
}

/** npm's packages, then the build: the first needs nothing, the second the first. @param {AbortSignal} signal */
async function prepareCode(signal) {
  await installPackages({ dev: false, signal });
  const { buildProduct } = await import('../build/product.mjs');
  return await buildProduct(repository);
}

/**
 * The model of the configuration, or the demo model when none is configured.
 *
 * @param {Start} start
 * @param {NodeJS.ProcessEnv} env
 */
async function chooseModel({ fleet, signal }, env) {
  const config = await readProductConfig(env);
  const first = config.models[0];
  if (first !== undefined)
    return { config, model: `${first.name} (${first.model} at ${new URL(first.baseUrl).host})`, modelEnv: {} };
  const demo = await demoModelPlan();
  await step('demo model', () =>
    together(signal, [(inner) => fleet.start(demo.plan, { role: 'service', env, signal: inner })]),
  );
  return {
    config: await readProductConfig({ ...env, ...demo.env }),
    model: 'the scripted DEMO model, not an AI. Set OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL) for a real one',
    modelEnv: demo.env,
  };
}

/**
 * @param {import('./settings.mjs').LauncherSettings} settings
 * @param {{ natsUrl: string, redisUrl: string }} servers
 * @returns {NodeJS.ProcessEnv}
 */
function serviceEnvironment(settings, { natsUrl, redisUrl }) {
  return {
    ...process.env,
    NODE_ENV: process.env['NODE_ENV'] ?? 'production',
    PATH: searchPath(settings.unpacked),
    CARIBOU_HOME: settings.home,
    CARIBOU_HEALTH_PORT: '0',
    NATS_URL: natsUrl,
    REDIS_URL: redisUrl,
    REDIS_FSYNC: settings.redisFsync,
  };
}

/** Waits until a turn would run; otherwise says what the gateway finds missing. @param {string} url @param {AbortSignal} signal */
async function tellReadiness(url, signal) {
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

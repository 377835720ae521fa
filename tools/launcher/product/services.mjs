import { inRepository } from '../repository.mjs';
import { freePort } from '../machine/free-port.mjs';
import { waitUntil } from '../processes/wait-until.mjs';

const serviceReadyTimeoutMs = 60_000;

/**
 * For every service, here and in `docker/entrypoint.sh`. A turn's objects are dead when it ends: with room for a few
 * hundred turns the collector finds next to nothing to copy (a seventh of the CPU per turn under load).
 */
export const nodeFlags = ['--enable-source-maps', '--max-semi-space-size=64'];

/** The services in the order of display; they start together. */
export const services = ['gateway', 'agent-runner', 'sandbox-manager', 'memory-worker', 'subagent-pool'];

/**
 * @typedef {Pick<import('../processes/managed-process.mjs').ProcessPlan, 'name' | 'file' | 'args' | 'untilReady' | 'readyTimeoutMs' | 'quiet' | 'ipc'>} Plan
 */

/**
 * The plan of one service. It reports that it is ready by `process.send({ type: 'ready', healthPort })`.
 *
 * @param {string} name
 * @param {(healthPort: number) => void} onReady
 * @returns {Plan}
 */
export function servicePlan(name, onReady) {
  return {
    name,
    file: process.execPath,
    args: [...nodeFlags, inRepository('dist', 'services', `${name}.js`)],
    quiet: false,
    ipc: true,
    readyTimeoutMs: serviceReadyTimeoutMs,
    untilReady: (child) =>
      new Promise((resolve) => {
        child.on('message', (message) => {
          if (typeof message !== 'object' || !('type' in message) || message.type !== 'ready') return;
          onReady('healthPort' in message && typeof message.healthPort === 'number' ? message.healthPort : 0);
          resolve();
        });
      }),
  };
}

/**
 * The scripted demo model: an OpenAI-compatible server that plays a fixed story, for a first try without a model.
 *
 * @returns {Promise<{ plan: Plan, env: Record<string, string> }>} env: how the services reach it
 */
export async function demoModelPlan() {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  return {
    env: { OPENAI_BASE_URL: `${origin}/v1`, OPENAI_API_KEY: 'demo', OPENAI_MODEL: 'caribou-demo' },
    plan: {
      name: 'demo-model',
      file: process.execPath,
      args: [inRepository('dist', 'tools', 'demo-model', 'main.js'), '--port', String(port)],
      quiet: true,
      ipc: false,
      readyTimeoutMs: serviceReadyTimeoutMs,
      untilReady: (_child, signal) => waitUntil(async () => (await fetch(`${origin}/health`, { signal })).ok, signal),
    },
  };
}

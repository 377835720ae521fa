import { parseArgs } from 'node:util';
import { requireNode } from './machine/node-version.mjs';
import { installPackages } from './machine/packages.mjs';
import { searchPath } from './machine/programs.mjs';
import { installPrograms } from './machine/system-packages.mjs';
import { inRepository, repository } from './repository.mjs';
import { runCommand } from './processes/run-command.mjs';
import { LauncherError, say, step } from './processes/terminal.mjs';

/** `npm run chaos`: builds the product and runs it under work and faults; docs/chaos.md. */

const usage = `npm run chaos -- [--seed N] [--minutes 5] [--each 2] [--lanes 12] [--pause-ms 1800] [--scale 2]
Runs that many of each service, users on so many threads at once, and a fault every --pause-ms on average. The seed
determines what is done and which faults happen when. --scale stretches what the checker waits for; ends with 1 on a violation.`;

const unpacked = inRepository('.caribou', 'servers', 'programs');

/** Additional time for the start, the last turns and the checks. */
const overheadMs = 15 * 60_000;

/** @param {string} name @param {string} value @param {number} least @param {number} most */
function inRange(name, value, least, most) {
  const number = Number(value);
  if (number >= least && number <= most) return number;
  throw new LauncherError(`--${name} must be a number from ${least} to ${most}`);
}

/** @returns {Promise<number>} the exit code */
async function chaos() {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      minutes: { type: 'string', default: '5' },
      each: { type: 'string', default: '2' },
      lanes: { type: 'string', default: '12' },
      'pause-ms': { type: 'string', default: '1800' },
      scale: { type: 'string', default: '2' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    say(usage);
    return 0;
  }
  const minutes = inRange('minutes', values.minutes, 0.5, 24 * 60);
  const settings = {
    CHAOS_SEED: String(inRange('seed', values.seed, 0, 2 ** 32 - 1)),
    CHAOS_MINUTES: String(minutes),
    CHAOS_EACH: String(inRange('each', values.each, 1, 10)),
    CHAOS_LANES: String(inRange('lanes', values.lanes, 1, 200)),
    CHAOS_PAUSE_MS: String(inRange('pause-ms', values['pause-ms'], 100, 600_000)),
    CHAOS_SCALE: String(inRange('scale', values.scale, 0.5, 20)),
  };
  requireNode();
  const { signal } = new AbortController();
  await installPackages({ dev: true, signal });
  const programs = /** @type {const} */ (['nats-server', 'redis-server', 'bwrap', 'setpriv', 'openssl']);
  const missing = await installPrograms({ programs: [...programs], unpacked, signal });
  if (missing.length > 0) throw new LauncherError(`not installed: ${missing.join(', ')}`);
  const { buildProduct } = await import('../build/product.mjs');
  await step('build', () => buildProduct(repository));
  say(`chaos: seed ${settings.CHAOS_SEED}, ${minutes} minutes`);
  const jest = inRepository('node_modules', 'jest', 'bin', 'jest.js');
  const { code } = await runCommand(process.execPath, [jest, 'e2e/chaos/chaos.test.ts', '--selectProjects', 'e2e'], {
    cwd: repository,
    timeoutMs: minutes * 60_000 + overheadMs,
    env: { ...process.env, ...settings, PATH: searchPath(unpacked) },
    onError: (text) => process.stdout.write(text),
  });
  return code === 0 ? 0 : 1;
}

try {
  process.exitCode = await chaos();
} catch (error) {
  if (!(error instanceof LauncherError) && !(error instanceof TypeError)) throw error;
  say(`${error.message}\n${usage}`);
  process.exitCode = 1;
}

import { requireNode } from './machine/node-version.mjs';
import { installPackages } from './machine/packages.mjs';
import { searchPath } from './machine/programs.mjs';
import { installPrograms } from './machine/system-packages.mjs';
import { inRepository, repository } from './repository.mjs';
import { runCommand } from './processes/run-command.mjs';
import { LauncherError, say, step } from './processes/terminal.mjs';

/** An e2e test whose length is set by its environment, run by a command of its own. */

const unpacked = inRepository('.caribou', 'servers', 'programs');

/** Additional time for the start, the last turns and the checks. */
const overheadMs = 15 * 60_000;

/** @param {string} name @param {string} value @param {number} least @param {number} most */
export function inRange(name, value, least, most) {
  const number = Number(value);
  if (number >= least && number <= most) return number;
  throw new LauncherError(`--${name} must be a number from ${least} to ${most}`);
}

/**
 * Installs what is missing, builds the product and runs the test; what it writes to stderr is shown as it comes.
 *
 * @param {{ title: string, path: string, minutes: number, env: Readonly<Record<string, string>> }} test
 * @returns {Promise<number>} the exit code
 */
export async function runLongTest({ title, path, minutes, env }) {
  requireNode();
  const { signal } = new AbortController();
  await installPackages({ dev: true, signal });
  const programs = /** @type {const} */ (['nats-server', 'redis-server', 'bwrap', 'setpriv', 'openssl']);
  const missing = await installPrograms({ programs: [...programs], unpacked, signal });
  if (missing.length > 0) throw new LauncherError(`not installed: ${missing.join(', ')}`);
  const { buildProduct } = await import('../build/product.mjs');
  await step('build', () => buildProduct(repository));
  say(title);
  const jest = inRepository('node_modules', 'jest', 'bin', 'jest.js');
  const { code } = await runCommand(process.execPath, [jest, path, '--selectProjects', 'e2e'], {
    cwd: repository,
    timeoutMs: minutes * 60_000 + overheadMs,
    env: { ...process.env, ...env, PATH: searchPath(unpacked) },
    onError: (text) => process.stdout.write(text),
  });
  return code === 0 ? 0 : 1;
}

/**
 * Runs a command, and shows its usage when its arguments are wrong.
 *
 * @param {string} usage
 * @param {() => Promise<number>} command
 */
export async function runWithUsage(usage, command) {
  try {
    process.exitCode = await command();
  } catch (error) {
    if (!(error instanceof LauncherError) && !(error instanceof TypeError)) throw error;
    say(`${error.message}\n${usage}`);
    process.exitCode = 1;
  }
}

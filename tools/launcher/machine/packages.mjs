import { readFileSync } from 'node:fs';
import { inRepository, repository } from '../repository.mjs';
import { runCommand, tail } from '../processes/run-command.mjs';
import { LauncherError, say, step } from '../processes/terminal.mjs';

const installTimeoutMs = 15 * 60_000;

/**
 * @typedef {{ version?: string, dev?: boolean, optional?: boolean, devOptional?: boolean, peer?: boolean }} LockedPackage
 * @typedef {{ packages?: Record<string, LockedPackage> }} LockFile
 */

/**
 * Installs the packages of the lock file that `node_modules` lacks. Install scripts stay off, as no package needs them.
 *
 * @param {{ dev: boolean, signal?: AbortSignal }} options dev: also what only tests and checks need
 * @returns {Promise<void>}
 * @throws {LauncherError} when npm fails; the message ends with npm's last lines
 */
export async function installPackages({ dev: wanted, signal }) {
  const installed = readLock('node_modules', '.package-lock.json');
  // Packages for tests stay if they are installed: npm ci removes packages that are not requested.
  const dev = wanted || Object.entries(installed).some(([, entry]) => entry.dev === true);
  const missing = missingPackages(dev, installed);
  if (missing === 0) {
    say('npm packages: complete');
    return;
  }
  const npm = process.env['npm_execpath'];
  const scope = dev ? [] : ['--omit=dev'];
  const args = ['ci', ...scope, '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
  await step(`npm packages: installing ${missing} (npm ${args.slice(0, dev ? 1 : 2).join(' ')})`, async () => {
    const [file, lead] = npm === undefined ? ['npm', []] : [process.execPath, [npm]];
    const { code, output } = await runCommand(file, [...lead, ...args], {
      cwd: repository,
      timeoutMs: installTimeoutMs,
      ...(signal === undefined ? {} : { signal }),
    });
    if (code !== 0) throw new LauncherError(`npm could not install the packages (exit ${code}):\n${tail(output)}`);
  });
}

/**
 * How many packages of the lock file are not installed in their version. npm stores the list of installed packages in
 * `node_modules/.package-lock.json`; packages for other platforms are optional and do not count.
 *
 * @param {boolean} dev
 * @param {Record<string, LockedPackage>} [installed]
 */
export function missingPackages(dev, installed = readLock('node_modules', '.package-lock.json')) {
  const locked = readLock('package-lock.json');
  return Object.entries(locked).filter(([path, wanted]) => {
    if (path === '' || wanted.optional === true || wanted.devOptional === true) return false;
    if (wanted.dev === true && !dev) return false;
    return installed[path]?.version !== wanted.version;
  }).length;
}

/** @param {string[]} path @returns {Record<string, LockedPackage>} */
function readLock(...path) {
  let text;
  try {
    text = readFileSync(inRepository(...path), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    throw error;
  }
  /** @type {LockFile} */
  const lock = JSON.parse(text);
  return lock.packages ?? {};
}

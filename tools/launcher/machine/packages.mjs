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
 * Installs the packages of the lock file that `node_modules` lacks, also those for development: the console is made of them. Install scripts
 * stay off, as no package needs them.
 *
 * @param {{ signal?: AbortSignal }} options
 * @returns {Promise<void>}
 * @throws {LauncherError} when npm fails; the message ends with npm's last lines
 */
export async function installPackages({ signal }) {
  const missing = missingPackages(true);
  if (missing === 0) {
    say('npm packages: complete');
    return;
  }
  const npm = process.env['npm_execpath'];
  const args = ['ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
  await step(`npm packages: installing ${missing} (npm ci)`, async () => {
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
 * @param {boolean} dev whether packages for development count too
 */
export function missingPackages(dev) {
  const installed = readLock('node_modules', '.package-lock.json');
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

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inRepository } from '../repository.mjs';
import { runCommand, tail } from '../processes/run-command.mjs';
import { say, step, warn } from '../processes/terminal.mjs';
import { installDebianPackage } from './system-packages.mjs';

const venvTimeoutMs = 2 * 60_000;
const pipTimeoutMs = 5 * 60_000;
const requirements = inRepository('tools', 'launcher', 'machine', 'moto-requirements.txt');
/** `startMoto()` of @caribou/testing looks for it here. */
const folder = inRepository('.caribou', 'servers', 'moto');
const marker = join(folder, 'installed.txt');

/**
 * Installs moto, the S3 server in Python of the tests, into an environment of its own. What is missing is a warning and never an
 * error: the tests that need it say that they are skipped.
 *
 * @param {{ signal?: AbortSignal }} options
 * @returns {Promise<void>}
 */
export async function installMoto({ signal }) {
  const wanted = readFileSync(requirements, 'utf8');
  if (installed() === wanted) {
    say('moto: installed');
    return;
  }
  await step('moto: installing it from PyPI', async () => {
    const failure = (await makeEnvironment(signal)) ?? (await installInto(folder, signal));
    if (failure === undefined) writeFileSync(marker, wanted);
    else warn(`moto is not installed, so tests on it are skipped: ${failure}`);
  });
}

function installed() {
  try {
    return readFileSync(marker, 'utf8');
  } catch {
    return undefined;
  }
}

/** @param {AbortSignal | undefined} signal @returns {Promise<string | undefined>} why it could not be made */
async function makeEnvironment(signal) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const first = await python(['-m', 'venv', folder], signal);
  if (first.code === 0) return undefined;
  // Debian's Python comes without what makes environments.
  if (!(await installDebianPackage('python3-venv', signal))) return tail(first.output, 3);
  const second = await python(['-m', 'venv', '--clear', folder], signal);
  return second.code === 0 ? undefined : tail(second.output, 3);
}

/** @param {string[]} args @param {AbortSignal | undefined} signal */
const python = (args, signal) =>
  runCommand('python3', args, { timeoutMs: venvTimeoutMs, ...(signal === undefined ? {} : { signal }) });

/** @param {string} environment @param {AbortSignal | undefined} signal @returns {Promise<string | undefined>} */
async function installInto(environment, signal) {
  const args = ['install', '--quiet', '--no-input', '--disable-pip-version-check', '--no-compile', '-r', requirements];
  const { code, output } = await runCommand(join(environment, 'bin', 'pip'), args, {
    timeoutMs: pipTimeoutMs,
    ...(signal === undefined ? {} : { signal }),
  });
  return code === 0 ? undefined : tail(output, 3);
}

import { pathToFileURL } from 'node:url';
import { isPortFree } from './machine/free-port.mjs';
import { requireNode } from './machine/node-version.mjs';
import { missingPackages } from './machine/packages.mjs';
import { findProgram, searchPath } from './machine/programs.mjs';
import { inRepository, repository } from './repository.mjs';
import { readSettings } from './product/settings.mjs';
import { LauncherError } from './processes/terminal.mjs';

/** `npm run doctor`: prints a line for everything Caribou needs, ok, warn or fail, with advice; exit code 1 after a fail. */

/**
 * @typedef {{ level: 'ok' | 'warn' | 'fail', topic: string, text: string, fix?: string }} Finding
 * @typedef {object} Doctor what is built of tools/doctor
 * @property {(surroundings: object) => Promise<Finding[]>} examine
 * @property {(finding: Finding) => string[]} linesOf
 */

/** The operator's code that was loaded may prevent the process from ending. */
const leave = (/** @type {number} */ code) => process.exit(code);

try {
  requireNode();
  leave(await report());
} catch (error) {
  process.stderr.write(`fail  ${error instanceof LauncherError ? error.message : String(error)}\n`);
  leave(1);
}

/** @returns {Promise<number>} the exit code */
async function report() {
  const settings = readSettings();
  const missing = missingPackages(false);
  if (missing > 0)
    throw new LauncherError(`packages    ${missing} npm packages are not installed\n      → run npm start, or npm ci`);
  const { build } = await import('../build/build.mjs');
  await build(repository);
  const path = searchPath(settings.unpacked);
  /** @type {{ default: Doctor }} */
  const doctor = await import(pathToFileURL(inRepository('dist', 'tools', 'doctor', 'main.js')).href);
  const { examine, linesOf } = doctor.default;
  process.env['PATH'] = path;
  const findings = await examine({
    env: { ...process.env, CARIBOU_HOME: settings.home },
    root: repository,
    findProgram: (/** @type {string} */ name) => findProgram(name, path),
    isPortFree: (/** @type {{ port: number, host: string }} */ { port, host }) => isPortFree(port, host),
  });
  const all = [{ level: /** @type {const} */ ('ok'), topic: 'node', text: process.versions.node }, ...findings];
  const count = (/** @type {string} */ level) => all.filter((finding) => finding.level === level).length;
  const lines = all.flatMap(linesOf);
  process.stdout.write(
    `${lines.join('\n')}\n\n${count('ok')} ok, ${count('warn')} warnings, ${count('fail')} failures\n`,
  );
  return count('fail') === 0 ? 0 : 1;
}

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { inRepository, repository } from './repository.mjs';
import { runCommand } from './processes/run-command.mjs';
import { say, seconds } from './processes/terminal.mjs';

/** The gates of the repository, `npm run check` and part of `npm test`. The slowest come first. */

const node = process.execPath;
const folders = ['apps', 'libs', 'tools', 'e2e'].filter((folder) => existsSync(inRepository(folder)));

/** @param {string[]} parts */
const bin = (...parts) => inRepository('node_modules', ...parts);

/** Skips files that have not changed, and so misses effects of changes elsewhere; CI does not use the cache. */
const lintCache =
  process.env['CI'] === undefined
    ? ['--cache', '--cache-strategy', 'content', '--cache-location', bin('.cache', 'eslint', '/')]
    : [];

/** Lint allocates much that it needs for a moment: with more room for that, collecting it takes less processor time. */
const roomForNew = '--max-semi-space-size=128';

/** @type {{ name: string, args: string[] }[]} */
const checks = [
  { name: 'lint', args: [roomForNew, bin('eslint', 'bin', 'eslint.js'), '.', '--max-warnings=0', ...lintCache] },
  {
    name: 'floors and cycles',
    args: [
      bin('dependency-cruiser', 'bin', 'dependency-cruise.mjs'),
      '--config',
      '.dependency-cruiser.cjs',
      ...folders,
    ],
  },
  { name: 'dead code', args: [bin('knip', 'bin', 'knip.js'), '--no-config-hints'] },
  { name: 'types', args: [bin('typescript-7', 'bin', 'tsc'), '-p', 'tsconfig.json', '--noEmit'] },
  { name: 'types of the pages', args: [bin('typescript-7', 'bin', 'tsc'), '-p', 'tsconfig.dom.json', '--noEmit'] },
  { name: 'format', args: [bin('@biomejs', 'biome', 'bin', 'biome'), 'format', '.'] },
];

/** Alone a check ends within minutes on any machine; during the tests it may last as long as they do. */
const timeoutMs = 5 * 60_000;
const besideTestsTimeoutMs = 40 * 60_000;

/**
 * Runs every check, prints the output of those that fail, and returns their names. Two at a time; `besideTests` one at a
 * time, as the tests use all processors: at a low priority the checks would get nothing until the tests have ended.
 *
 * @param {{ besideTests?: boolean, signal?: AbortSignal }} [options] `signal` ends the check that runs, the others do not begin
 * @returns {Promise<{ passed: string[], failed: string[] }>}
 */
export async function runChecks({ besideTests = false, signal = new AbortController().signal } = {}) {
  const waiting = [...checks];
  /** @type {{ passed: string[], failed: string[] }} */
  const result = { passed: [], failed: [] };
  const limits = { cwd: repository, timeoutMs: besideTests ? besideTestsTimeoutMs : timeoutMs, signal };
  const worker = async () => {
    for (let check = waiting.shift(); check !== undefined && !signal.aborted; check = waiting.shift()) {
      const began = Date.now();
      const { code, output } = await runCommand(node, check.args, limits);
      (code === 0 ? result.passed : result.failed).push(check.name);
      say(`check ${check.name}: ${code === 0 ? 'ok' : `FAILED (exit ${code})`}, ${seconds(Date.now() - began)}`);
      if (code !== 0) process.stdout.write(`${output.trimEnd()}\n`);
    }
  };
  await Promise.all(besideTests ? [worker()] : [worker(), worker()]);
  return result;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { failed } = await runChecks();
  process.exitCode = failed.length === 0 ? 0 : 1;
}

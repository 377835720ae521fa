import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { inRepository, repository } from './repository.mjs';
import { runCommand } from './run-command.mjs';
import { say, seconds } from './terminal.mjs';

/** The gates of the repository, `npm run check`. The slowest stand first, two run at a time. */

const node = process.execPath;
const folders = ['apps', 'libs', 'tools', 'e2e'].filter((folder) => existsSync(inRepository(folder)));

/** @param {string[]} parts */
const bin = (...parts) => inRepository('node_modules', ...parts);

/** Skips files that have not changed, and so misses what a change elsewhere means for them; CI takes no cache. */
const lintCache =
  process.env['CI'] === undefined
    ? ['--cache', '--cache-strategy', 'content', '--cache-location', bin('.cache', 'eslint', '/')]
    : [];

/** @type {{ name: string, args: string[] }[]} */
const checks = [
  { name: 'lint', args: [bin('eslint', 'bin', 'eslint.js'), '.', '--max-warnings=0', ...lintCache] },
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

/**
 * Runs every check, two at a time, prints the output of those that fail, and gives their names.
 *
 * @returns {Promise<{ passed: string[], failed: string[] }>}
 */
export async function runChecks() {
  const waiting = [...checks];
  /** @type {{ passed: string[], failed: string[] }} */
  const result = { passed: [], failed: [] };
  const worker = async () => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      const began = Date.now();
      const { code, output } = await runCommand(node, check.args, { cwd: repository, timeoutMs: 300_000 });
      (code === 0 ? result.passed : result.failed).push(check.name);
      say(`check ${check.name}: ${code === 0 ? 'ok' : `FAILED (exit ${code})`}, ${seconds(Date.now() - began)}`);
      if (code !== 0) process.stdout.write(`${output.trimEnd()}\n`);
    }
  };
  await Promise.all([worker(), worker()]);
  return result;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { failed } = await runChecks();
  process.exitCode = failed.length === 0 ? 0 : 1;
}

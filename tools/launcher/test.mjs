import { mkdirSync, rmSync } from 'node:fs';
import { runChecks } from './check.mjs';
import { useDockerEngine } from './machine/docker-engine.mjs';
import { closingLine, readJestCounts } from './jest-summary.mjs';
import { installKubernetesSchemas } from './machine/kubernetes-schemas.mjs';
import { installMoto } from './machine/moto.mjs';
import { requireNode } from './machine/node-version.mjs';
import { installPackages } from './machine/packages.mjs';
import { searchPath } from './machine/programs.mjs';
import { inRepository, repository } from './repository.mjs';
import { runCommand } from './processes/run-command.mjs';
import { installPrograms } from './machine/system-packages.mjs';
import { LauncherError, say, step, warn } from './processes/terminal.mjs';
import { runTogether } from './processes/run-together.mjs';

/**
 * `npm test`: installs what is missing, builds, runs every test and the checks, and ends with one line
 * `N passed, N failed`. With arguments (`npm test -- --selectProjects unit libs/state`) it hands them to jest and
 * leaves the checks out.
 */

/** An upper bound for a machine under load: about three times what all tests take on two processors. */
const jestTimeoutMs = 40 * 60_000;
const results = inRepository('.test-results');
/**
 * V8 optimizes code that has run eight times as long as usual. Each test file has modules of its own, whose code would be optimized
 * again for each, and rarely runs long enough to get back the time that takes. Jest hands the option on to its workers.
 */
const optimizeLater = '--interrupt-budget=1000000';
const unpacked = inRepository('.caribou', 'servers', 'programs');

/** @returns {Promise<void>} */
async function install() {
  /** @typedef {import('./machine/system-packages.mjs').Program[]} Programs */
  /** @type {Programs} */
  const programs = ['nats-server', 'redis-server', 'bwrap', 'setpriv', 'openssl'];
  const isRoot = process.getuid?.() === 0;
  if (isRoot) programs.push('dockerd', 'busybox', 'cc');
  // By itself: not every distribution has it, and an installation fails as a whole.
  /** @type {Programs[]} */
  const groups = isRoot ? [programs, ['ip'], ['runsc'], ['chromium']] : [programs];
  /** @type {Programs} */
  const missing = [];
  await runTogether(new AbortController().signal, [
    (signal) => installPackages({ dev: true, signal }),
    async (signal) => {
      for (const group of groups) missing.push(...(await installPrograms({ programs: group, unpacked, signal })));
      await installMoto({ signal });
      await installKubernetesSchemas({ signal });
    },
  ]);
  if (missing.length > 0)
    warn(`not installed: ${missing.join(', ')}; tests that need it fail or say that they are skipped`);
}

/**
 * @param {string[]} args
 * @param {AbortSignal} signal
 * @returns {Promise<import('./jest-summary.mjs').Counts>}
 */
async function runJest(args, signal) {
  const report = `${results}/jest.json`;
  rmSync(report, { force: true });
  const jest = inRepository('node_modules', 'jest', 'bin', 'jest.js');
  const jestArgs = [jest, ...pathsFirst(args), '--json', `--outputFile=${report}`];
  const { code } = await runCommand(process.execPath, [optimizeLater, ...jestArgs], {
    cwd: repository,
    timeoutMs: jestTimeoutMs,
    signal,
    env: { ...process.env, PATH: searchPath(unpacked), NX_DAEMON: 'false' },
    onError: (text) => process.stdout.write(text),
  });
  if (code === 124) warn(`jest was ended after ${jestTimeoutMs / 60_000} minutes`);
  const counts = readJestCounts(report);
  return code !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
}

/** jest takes everything after `--selectProjects` for the name of a project. @param {string[]} args */
const pathsFirst = (args) => [...args].sort((a, b) => Number(b.includes('/')) - Number(a.includes('/')));

/** @param {string[]} args @param {AbortSignal} signal @returns {Promise<import('./jest-summary.mjs').Counts>} */
async function buildAndTest(args, signal) {
  const { buildProduct } = await import('../build/product.mjs');
  await step('build', () => buildProduct(repository));
  const engine = await useDockerEngine(`${results}/dockerd.log`);
  say(`Docker engine: ${engine.state}`);
  try {
    return await step('tests', () => runJest(args, signal));
  } finally {
    await engine.stop();
  }
}

/** @param {string[]} jestArgs @returns {Promise<import('./jest-summary.mjs').Counts>} */
async function testAll(jestArgs) {
  requireNode();
  await install();
  mkdirSync(results, { recursive: true });
  const isPart = jestArgs.length > 0;
  const [checks, tests] = await runTogether(new AbortController().signal, [
    async (signal) => (isPart ? { passed: [], failed: [] } : await runChecks({ besideTests: true, signal })),
    (signal) => buildAndTest(jestArgs, signal),
  ]);
  say(
    `tests: ${closingLine(tests)}, ${tests.skipped} skipped; checks: ${checks.passed.length} passed, ${checks.failed.length} failed`,
  );
  if (checks.failed.length > 0) say(`failed checks: ${checks.failed.join(', ')}`);
  return {
    passed: tests.passed + checks.passed.length,
    failed: tests.failed + checks.failed.length,
    skipped: tests.skipped,
  };
}

let counts = { passed: 0, failed: 1, skipped: 0 };
try {
  counts = await testAll(process.argv.slice(2));
} catch (error) {
  warn(error instanceof LauncherError ? error.message : String(error instanceof Error ? error.stack : error));
}
process.exitCode = counts.failed === 0 ? 0 : 1;
process.stdout.write(`${closingLine(counts)}\n`);

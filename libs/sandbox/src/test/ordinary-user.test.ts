import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { temporaryFolder } from '@caribou/testing';

jest.setTimeout(300_000);

/** No user of the machine. */
const UID = 23_456;
const AS_USER = ['--reuid', `${UID}`, '--regid', `${UID}`, '--clear-groups', '--pdeathsig', 'KILL', process.execPath];
const JEST = resolve('node_modules/jest/bin/jest.js');
const SUITE = 'libs/sandbox/src/bwrap/bwrap-driver.test.ts';
/** What sandboxes hold: attacks on the machine and on other threads, files that lie in wait, and who a command is. */
const HOLDS = 'BwrapDriver under abuse|files that are traps|\\(D1\\)|\\(D1, D2\\)|\\(D2\\)';

const emptyFolder = temporaryFolder();

interface Report {
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly title: string; readonly status: string }[];
  }[];
}

/** Why the suite cannot be run as another user here, or null. */
function missing(): string | null {
  if (process.getuid?.() !== 0) return 'not root: the suite itself runs as an ordinary user';
  const look = spawnSync('setpriv', [...AS_USER, '-e', `require.resolve(${JSON.stringify(JEST)})`]);
  return look.status === 0 ? null : 'other users of the machine cannot read this checkout';
}

const reason = missing();
if (reason === null) {
  test('sandboxes of an ordinary user hold what those of root hold', async () => {
    const folder = emptyFolder;
    chownSync(folder, UID, UID);
    const reportFile = join(folder, 'report.json');
    const args = [JEST, SUITE, '--selectProjects', 'unit', '-t', HOLDS, '--json', '--outputFile', reportFile];
    const child = spawn('setpriv', [...AS_USER, ...args, '--cacheDirectory', join(folder, 'cache')], {
      env: { PATH: process.env['PATH'], HOME: folder, TMPDIR: folder },
      stdio: 'ignore',
      timeout: 280_000,
    });
    await once(child, 'exit');

    const report = JSON.parse(readFileSync(reportFile, 'utf8')) as Report;
    const results = report.testResults.flatMap(({ assertionResults }) => assertionResults);
    const failed = results.flatMap(({ title, status }) => (status === 'failed' ? [title] : []));
    expect([failed, report.testResults.map(({ message }) => message).join('')]).toEqual([[], '']);
    const passed = results.flatMap(({ title, status }) => (status === 'passed' ? [title] : []));
    expect(passed.length).toBeGreaterThan(20);
    expect(passed).toContainEqual(expect.stringContaining('no command makes a set-id file'));
    expect(passed).toContainEqual(expect.stringContaining('rings, vsock, the entries of other ABIs'));
  });
} else {
  test.skip(`sandboxes of an ordinary user: ${reason}`, () => undefined);
  process.stderr.write(`skipped: sandboxes of an ordinary user (${reason})\n`);
}

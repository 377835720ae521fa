import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, copyFileSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Prints where it runs and what it can load. */
const PROGRAM = `
const path = require('node:path');
const { word } = require('./other.cjs');
console.log([word, path.basename(__filename), require.resolve('./other.cjs') !== ''].join(' '));
`;

describe('start of a bundle', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'caribou-start-'));
    copyFileSync(join(__dirname, 'start.cjs'), join(folder, 'start.cjs'));
    writeFileSync(join(folder, 'other.cjs'), "exports.word = 'up';\n");
    writeFileSync(join(folder, 'app-1.js'), PROGRAM);
    writeFileSync(join(folder, 'app.js'), "require('./start.cjs').start('app-1.js');\n");
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  test('runs the bundle where it is', () => {
    const out = execFileSync(process.execPath, [join(folder, 'app.js')], { encoding: 'utf8' });
    expect(out).toBe('up app-1.js true\n');
  });

  test('programs that a service starts inherit nothing that was left open to it', () => {
    const lists = "require('node:child_process').execFileSync('ls', ['/proc/self/fd'], { encoding: 'utf8' })";
    writeFileSync(join(folder, 'app-1.js'), `console.log(JSON.stringify(${lists}.trim().split('\\n')));`);
    const leaked = openSync(join(folder, 'other.cjs'), 'r');
    const stdio = Array.from({ length: 61 }, (_, fd) => (fd < 3 ? 'pipe' : fd === 60 ? leaked : 'ignore'));

    // A shell in between, as Node itself marks the lowest descriptors that it inherits.
    const { stdout } = spawnSync('sh', ['-c', 'exec "$0" "$@"', process.execPath, join(folder, 'app.js')], {
      encoding: 'utf8',
      stdio,
    });
    closeSync(leaked);

    // The fourth is the folder that ls reads.
    expect(JSON.parse(stdout)).toEqual(['0', '1', '2', '3']);
  });
});

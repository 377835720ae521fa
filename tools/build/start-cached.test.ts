import { execFileSync, spawnSync } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Says where it runs and what it can load, and lives until its code was kept. */
const PROGRAM = `
const path = require('node:path');
const { word } = require('./other.cjs');
console.log([word, path.basename(__filename), require.resolve('./other.cjs') !== ''].join(' '));
setTimeout(() => undefined, Number(process.env.LIVES_MS));
`;

describe('start of a bundle', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'caribou-start-'));
    copyFileSync(join(__dirname, 'start-cached.cjs'), join(folder, 'start-cached.cjs'));
    writeFileSync(join(folder, 'other.cjs'), "exports.word = 'up';\n");
    writeFileSync(join(folder, 'app-1.js'), PROGRAM);
    writeFileSync(join(folder, 'app.js'), "require('./start-cached.cjs').start('app-1.js');\n");
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  const start = (livesMs: number): string =>
    execFileSync(process.execPath, [join(folder, 'app.js')], {
      encoding: 'utf8',
      env: { ...process.env, LIVES_MS: String(livesMs) },
    });
  const caches = (): readonly string[] => readdirSync(folder).filter((name) => name.endsWith('.cache'));

  test('keeps its machine code once it has run for a while, and the next start takes it', () => {
    expect(start(0)).toBe('up app-1.js true\n');
    expect(caches()).toEqual([]);
    expect(start(3_000)).toBe('up app-1.js true\n');
    expect(caches()).toHaveLength(1);
    const kept = readFileSync(join(folder, String(caches()[0])));
    expect(start(3_000)).toBe('up app-1.js true\n');
    expect(readFileSync(join(folder, String(caches()[0])))).toEqual(kept);
  });

  test('programs that a service starts inherit nothing that was left open to it', () => {
    const lists = "require('node:child_process').execFileSync('ls', ['/proc/self/fd'], { encoding: 'utf8' })";
    writeFileSync(join(folder, 'app-1.js'), `console.log(JSON.stringify(${lists}.trim().split('\\n')));`);
    const leaked = openSync(join(folder, 'other.cjs'), 'r');
    const stdio = Array.from({ length: 61 }, (_, fd) => (fd < 3 ? 'pipe' : fd === 60 ? leaked : 'ignore'));

    // A shell in between, as Node itself marks the lowest descriptors that it inherits.
    const { stdout } = spawnSync('sh', ['-c', 'exec "$0" "$@"', process.execPath, join(folder, 'app.js')], {
      ...{ encoding: 'utf8', stdio },
    });
    closeSync(leaked);

    // The fourth is the folder that ls reads.
    expect(JSON.parse(stdout)).toEqual(['0', '1', '2', '3']);
  });

  test('code that V8 refuses is made anew', () => {
    start(3_000);
    const cache = join(folder, String(caches()[0]));
    writeFileSync(cache, 'spoiled');
    expect(start(3_000)).toBe('up app-1.js true\n');
    expect(readFileSync(cache, 'latin1')).not.toBe('spoiled');
  });
});

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PRELOAD = join(__dirname, 'code-cache.cjs');

/** Says what it is as a service does when it is ready; all bundles of the same length. */
const bundleOf = (digit: number): string =>
  `const { basename } = require('node:path'); process.send({ type: 'ready', is: [${digit}, basename(__filename), basename(module.filename)] });\n`;

describe('the code cache of services in tests', () => {
  let folder: string;
  let bundle: string;

  const start = async (): Promise<unknown> => {
    const child = fork(join(folder, 'app.js'), { execArgv: ['--require', PRELOAD] });
    const [[message]] = await Promise.all([once(child, 'message'), once(child, 'exit')]);
    return (message as { readonly is: unknown }).is;
  };
  const cached = (): readonly string[] => readdirSync(join(folder, '.compile-cache'));
  const inode = (): number => statSync(join(folder, '.compile-cache', cached()[0] ?? '')).ino;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'caribou-code-cache-'));
    bundle = join(folder, 'app.bundle.js');
    writeFileSync(bundle, bundleOf(1));
    writeFileSync(join(folder, 'app.js'), "require('./app.bundle.js');\n");
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  test('is written by the first start and used by the next', async () => {
    expect(await start()).toEqual([1, 'app.bundle.js', 'app.bundle.js']);
    const written = inode();

    expect(await start()).toEqual([1, 'app.bundle.js', 'app.bundle.js']);

    expect([cached().length, inode()]).toEqual([1, written]);
  });

  test('of an earlier build is neither used nor left there', async () => {
    await start();
    const [earlier] = cached();
    writeFileSync(bundle, bundleOf(2));
    utimesSync(bundle, new Date(), new Date(Date.now() + 5_000));

    expect(await start()).toEqual([2, 'app.bundle.js', 'app.bundle.js']);

    expect(cached()).toHaveLength(1);
    expect(cached()).not.toContain(earlier);
  });

  test('that is spoiled is replaced', async () => {
    await start();
    const file = join(folder, '.compile-cache', cached()[0] ?? '');
    writeFileSync(file, 'spoiled');

    expect(await start()).toEqual([1, 'app.bundle.js', 'app.bundle.js']);

    expect(statSync(file).size).toBeGreaterThan(100);
  });
});

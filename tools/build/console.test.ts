import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';

const repository = join(__dirname, '..', '..');
const BUILD_MS = 60_000;

describe('buildConsole', () => {
  let root = '';

  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const call = `import('./tools/build/console.mjs').then(async (it) => console.log(await it.buildConsole(process.cwd()), process.env.NODE_ENV))`;
  const build = () =>
    execFileSync(process.execPath, ['-e', call], { cwd: root, encoding: 'utf8', stdio: 'pipe' }).trim();
  const built = (path: string) => readFileSync(join(root, 'dist/console', path));

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'caribou-console-'));
    cpSync(join(__dirname, 'console.mjs'), join(root, 'tools/build/console.mjs'));
    symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'));
    write('package-lock.json', '{}');
    write('apps/console/index.html', '<!doctype html><script type="module" src="/src/main.ts"></script>');
    write('apps/console/src/main.ts', `document.title = ${JSON.stringify('caribou '.repeat(50))};\n`);
  });

  afterAll(() => rmSync(root, { recursive: true, force: true }));

  test(
    'files are named by their content, linked relatively, and have compressed forms that are the same content; NODE_ENV stays',
    () => {
      expect(build()).toBe('true test');
      const [script = ''] = readdirSync(join(root, 'dist/console/assets')).filter((name) => name.endsWith('.js'));
      const code = built(`assets/${script}`);

      expect(script).toMatch(/^index-[\w-]{8}\.js$/);
      expect(built('index.html').toString()).toContain(`src="./assets/${script}"`);
      expect(brotliDecompressSync(built(`assets/${script}.br`))).toEqual(code);
      expect(gunzipSync(built(`assets/${script}.gz`))).toEqual(code);
      expect(readdirSync(join(root, 'dist'))).toEqual(['console']);
    },
    BUILD_MS,
  );

  test(
    'it is built again when a source has changed, and not otherwise; a failed build leaves the last one',
    () => {
      expect(build()).toBe('false test');
      write('apps/console/src/main.ts', 'document.title = ;');
      const soon = Date.now() / 1_000 + 5;
      utimesSync(join(root, 'apps/console/src/main.ts'), soon, soon);

      expect(build).toThrow(/main\.ts/);
      expect(existsSync(join(root, 'dist/console/index.html'))).toBe(true);
      expect(readdirSync(join(root, 'dist'))).toEqual(['console']);
    },
    BUILD_MS,
  );
});

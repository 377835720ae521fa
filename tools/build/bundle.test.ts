import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const repository = join(__dirname, '..', '..');
const APPS = ['gateway', 'agent-runner', 'sandbox-manager', 'memory-worker', 'subagent-pool'];

describe('bundles of services', () => {
  let root = '';

  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const run = (app: string) =>
    execFileSync(process.execPath, [join(root, `dist/services/${app}.js`)], { encoding: 'utf8' });
  const codeOf = (app: string) => readFileSync(join(root, `dist/services/${app}.bundle.js`), 'utf8');

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'caribou-bundle-'));
    cpSync(join(repository, '.swcrc'), join(root, '.swcrc'));
    symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'));
    for (const app of APPS) write(`apps/${app}/src/main.ts`, `console.log('${app}');\n`);
    write(
      'libs/core/src/index.ts',
      "export { used, Shape } from './used.js';\nexport { unused } from './unused.js';\n",
    );
    write(
      'libs/core/src/used.ts',
      'export const used = (): string => __dirname;\nexport class Shape { constructor(readonly facts: { name: string }) {} }\n',
    );
    write('libs/core/src/unused.ts', "console.log('loaded for nothing');\nexport const unused = 1;\n");
    write(
      'apps/gateway/src/main.ts',
      `import { used, Shape } from '@caribou/core';
       import Docker from 'dockerode';
       import { own } from './own.js';
       function Marked(_: unknown, key: string): void { console.log(Reflect.getMetadata === undefined, key); }
       class Service { @Marked handle(shape: Shape): Shape { return new Shape({ ...shape.facts, name: own }); } }
       console.log(used(), new Service().handle(new Shape({ name: '' })).facts.name);
       const isLoaded = () => Object.keys(require.cache).some((path) => path.includes('dockerode'));
       console.log(isLoaded(), typeof new Docker().ping, isLoaded());\n`,
    );
    write('apps/gateway/src/own.ts', "export const own = 'of the app';\n");
    const bundle = pathToFileURL(join(repository, 'tools/build/bundle.mjs')).href;
    const program = `import { bundle } from ${JSON.stringify(bundle)}; await bundle(${JSON.stringify(root)});`;
    execFileSync(process.execPath, ['--input-type=module', '-e', program]);
  });

  afterAll(() => {
    rmSync(root, { recursive: true, force: true });
  });

  test('run, with decorators; files are found where the build copies them; a heavy package waits for its first use', () => {
    expect(run('gateway').trim().split('\n')).toEqual([
      'true handle',
      `${join(root, 'dist/libs/core/src')} of the app`,
      'false function true',
    ]);
  });

  test('have nothing of modules that are not used, and every service has one', () => {
    expect(codeOf('gateway')).not.toContain('loaded for nothing');
    expect(APPS.slice(1).map((app) => run(app).trim())).toEqual(APPS.slice(1));
  });

  test('functions of other modules are called directly, and all wrapped modules have one shape', () => {
    expect(codeOf('gateway')).toMatch(/console\.log\(used\(\), /);
    expect(codeOf('gateway')).not.toMatch(/__(commonJS|esm)\(\{\n\s*"/);
  });
});

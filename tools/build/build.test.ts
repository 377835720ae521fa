import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const repository = join(__dirname, '..', '..');

describe('build', () => {
  let root = '';

  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const build = () => execFileSync(process.execPath, ['tools/build/build.mjs'], { cwd: root, encoding: 'utf8' });

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'caribou-build-'));
    cpSync(join(repository, '.swcrc'), join(root, '.swcrc'));
    cpSync(join(__dirname, 'build.mjs'), join(root, 'tools/build/build.mjs'));
    symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'));
    write('libs/state/src/index.ts', "export { script } from './script.js';\n");
    write(
      'libs/state/src/script.ts',
      "import { readFileSync } from 'node:fs';\nexport const script = readFileSync(`${__dirname}/a.lua`, 'utf8');\n",
    );
    write('libs/state/src/a.lua', 'return 1');
    write('libs/state/src/script.test.ts', 'throw new Error();\n');
    write('apps/gateway/src/main.ts', "import { script } from '@caribou/state';\nprocess.stdout.write(script);\n");
  });

  afterEach(() => {
    rmSync(root, { recursive: true, force: true });
  });

  test('the output runs: aliases lead to the lib, other files are copied, tests are left out', () => {
    build();

    expect(execFileSync(process.execPath, [join(root, 'dist/apps/gateway/src/main.js')], { encoding: 'utf8' })).toBe(
      'return 1',
    );
    expect(existsSync(join(root, 'dist/libs/state/src/script.test.js'))).toBe(false);
  });

  test('a file that the index of a lib hands on is loaded when something of it is used', () => {
    write('libs/state/src/unused.ts', "process.stdout.write('loaded '); export const unused = 1;\n");
    write('libs/state/src/index.ts', "export { unused } from './unused.js';\nexport { script } from './script.js';\n");
    build();

    const run = (code: string) => execFileSync(process.execPath, ['-e', code], { cwd: root, encoding: 'utf8' });
    expect(run("require('./dist/apps/gateway/src/main.js')")).toBe('return 1');
    expect(run("process.stdout.write(String(require('./dist/libs/state/src/index.js').unused))")).toBe('loaded 1');
  });

  test('a second build compiles only changed files', () => {
    build();
    const later = new Date(Date.now() + 60_000);
    utimesSync(join(root, 'libs/state/src/index.ts'), later, later);

    expect(build()).toContain('1 compiled, 0 copied, 3 unchanged, 0 removed');
  });

  test('the output of a deleted source is removed', () => {
    build();
    rmSync(join(root, 'libs/state/src/a.lua'));

    build();

    expect(existsSync(join(root, 'dist/libs/state/src/a.lua'))).toBe(false);
  });

  test('decorator metadata names the injected class', () => {
    write(
      'apps/gateway/src/main.ts',
      [
        "import 'reflect-metadata';",
        "import { Port } from './port.js';",
        'const Injectable = (): ClassDecorator => () => undefined;',
        '@Injectable()',
        'export class Service { constructor(readonly port: Port) {} }',
        "process.stdout.write(String(Reflect.getMetadata('design:paramtypes', Service)[0].name));",
      ].join('\n'),
    );
    write('apps/gateway/src/port.ts', 'export class Port {}\n');

    build();

    expect(readFileSync(join(root, 'dist/apps/gateway/src/main.js'), 'utf8')).toContain('sourceMappingURL=main.js.map');
    expect(execFileSync(process.execPath, [join(root, 'dist/apps/gateway/src/main.js')], { encoding: 'utf8' })).toBe(
      'Port',
    );
  });
});

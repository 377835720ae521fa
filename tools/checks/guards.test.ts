import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const repository = join(__dirname, '..', '..');
const settings = [
  '.dependency-cruiser.cjs',
  'eslint.config.mjs',
  'package.json',
  'tools/checks/floors.cjs',
  'tsconfig.base.json',
  'tsconfig.dom.json',
  'tsconfig.json',
];

/** A tree that violates every rule once. */
const breaches: Record<string, string> = {
  'libs/contracts/src/index.ts': "import '@caribou/core';\nimport 'ioredis';\nexport const a = 1;\n",
  'libs/core/src/index.ts': "import { inner } from './inner.js';\nexport const b = inner;\n",
  'libs/core/src/inner.ts': "import { b } from './index.js';\nexport const inner: unknown = b;\n",
  'libs/state/src/index.ts': "import '@caribou/bus';\nimport '../../core/src/inner.js';\nimport '@caribou/testing';\n",
  'libs/bus/src/index.ts': 'export const save = async (): Promise<number> => 1;\n',
  'libs/testing/src/index.ts': 'export {};\n',
  'libs/nest/src/index.ts':
    "import { save } from '@caribou/bus';\nimport 'node:fs';\nsave();\nconsole.log(process.env['X']);\n",
  'apps/gateway/src/main.ts': "import '../../agent-runner/src/main.js';\n",
  'apps/agent-runner/src/main.ts': 'export {};\n',
  'e2e/empty.ts': 'export {};\n',
};

function run(cwd: string, script: string, args: string[]): string {
  try {
    return execFileSync(process.execPath, [join(repository, 'node_modules', script), ...args], {
      cwd,
      encoding: 'utf8',
    });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

describe('the guards of the floors', () => {
  let root = '';

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'caribou-guards-'));
    for (const file of settings) cpSync(join(repository, file), join(root, file), { recursive: true });
    symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'));
    for (const [file, text] of Object.entries(breaches)) {
      mkdirSync(dirname(join(root, file)), { recursive: true });
      writeFileSync(join(root, file), text);
    }
  });

  afterAll(() => {
    rmSync(root, { recursive: true, force: true });
  });

  test('dependency-cruiser refuses a higher floor, a neighbour, a detour, another app, test code, a vendor and a cycle', () => {
    const args = ['--config', '.dependency-cruiser.cjs', '--output-type', 'json', 'apps', 'libs'];
    const report = JSON.parse(run(root, 'dependency-cruiser/bin/dependency-cruise.mjs', args)) as {
      summary: { violations: { from: string; rule: { name: string } }[] };
    };

    const found = new Set(report.summary.violations.map(({ from, rule }) => `${from} ${rule.name}`));

    expect([...found].sort()).toEqual([
      'apps/gateway/src/main.ts app-gateway',
      'libs/contracts/src/index.ts contracts-need-zod-only',
      'libs/contracts/src/index.ts floor-contracts',
      'libs/contracts/src/index.ts vendor-ioredis',
      'libs/core/src/index.ts no-circular',
      'libs/state/src/index.ts enter-a-lib-by-its-index',
      'libs/state/src/index.ts floor-state',
      'libs/state/src/index.ts no-test-code-from-sources',
    ]);
  }, 60_000);

  test('lint refuses the same imports by their text, a promise dropped across libs, the disk, the console and the environment', () => {
    const report = JSON.parse(run(root, 'eslint/bin/eslint.js', ['.', '--format', 'json'])) as {
      filePath: string;
      messages: { ruleId: string; message: string }[];
    }[];

    const found = report.flatMap(({ filePath, messages }) =>
      messages.map(
        ({ ruleId, message }) => `${filePath.slice(root.length + 1)} ${ruleId} ${/^'\S+'/.exec(message)?.[0] ?? ''}`,
      ),
    );

    expect(found.map((line) => line.trim()).sort()).toEqual([
      "libs/contracts/src/index.ts no-restricted-imports '@caribou/core'",
      "libs/contracts/src/index.ts no-restricted-imports 'ioredis'",
      'libs/nest/src/index.ts @typescript-eslint/no-floating-promises',
      'libs/nest/src/index.ts no-console',
      "libs/nest/src/index.ts no-restricted-imports 'node:fs'",
      "libs/nest/src/index.ts no-restricted-properties 'process.env'",
      "libs/state/src/index.ts no-restricted-imports '@caribou/bus'",
      "libs/state/src/index.ts no-restricted-imports '@caribou/testing'",
    ]);
  }, 60_000);
});

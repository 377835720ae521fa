const { readdirSync, readFileSync } = require('node:fs');
const { join } = require('node:path');

/** One jest for the whole repository; the real servers of the integration tests are started per test file by @caribou/testing. */
const swc = JSON.parse(readFileSync(join(__dirname, '.swcrc'), 'utf8'));
delete swc.$schema;

/** The options for a file with JSX; `tsx` must be off for plain .ts, where it would forbid `<T>(x: T) => x`. */
const swcForJsx = {
  ...swc,
  jsc: {
    ...swc.jsc,
    parser: { ...swc.jsc.parser, tsx: true },
    transform: { ...swc.jsc.transform, react: { runtime: 'automatic' } },
  },
};

/**
 * What the libs hand on is loaded when a test first uses it: a test file needs little of each lib, and loading all of it
 * costs more than most tests take.
 */
const libIndex = '/libs/[^/]+/src/index\\.ts$';
const handedOn = readdirSync(join(__dirname, 'libs')).flatMap((lib) =>
  Array.from(
    readFileSync(join(__dirname, 'libs', lib, 'src/index.ts'), 'utf8').matchAll(/ from '([^']+)'/g),
    ([, path]) => path,
  ),
);
const swcForIndexes = { ...swc, module: { ...swc.module, lazy: [...new Set(handedOn)] } };

const shared = {
  testEnvironment: '<rootDir>/tools/checks/shared-code-environment.cjs',
  transform: {
    '^.+\\.tsx$': ['@swc/jest', { ...swcForJsx, swcrc: false }],
    [libIndex]: ['@swc/jest', { ...swcForIndexes, swcrc: false }],
    '^.+\\.ts$': ['@swc/jest', { ...swc, swcrc: false }],
    // Custom middlewares are ES modules.
    '/examples/.+\\.mjs$': ['@swc/jest', { module: swc.module, swcrc: false }],
  },
  moduleNameMapper: {
    '^@caribou/(.*)$': '<rootDir>/libs/$1/src/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/.caribou', '<rootDir>/.nx'],
};

/** Packages that ship ES modules only; jest on Node 20 and 22 cannot require them, so swc turns them into CommonJS. */
const esmOnly = ['p-queue', 'p-retry', 'p-timeout', 'is-network-error', 'uuid', 'eventemitter3'];

const e2e = {
  ...shared,
  transform: { ...shared.transform, '/node_modules/.+\\.m?js$': ['@swc/jest', { module: swc.module, swcrc: false }] },
  transformIgnorePatterns: [`/node_modules/(?!(.+/node_modules/)?(${esmOnly.join('|')})/)`],
};

/** A package of CommonJS that loads node:http by `import()`, which jest cannot do without a flag of Node. */
const importing = '@opentelemetry/otlp-exporter-base';

const unit = {
  ...shared,
  transform: {
    ...shared.transform,
    [`/node_modules/${importing}/.+\\.js$`]: ['@swc/jest', { module: swc.module, swcrc: false }],
  },
  transformIgnorePatterns: [`/node_modules/(?!${importing}/)`],
};

module.exports = {
  // An upper bound for a machine under load, longer than `waitFor` waits, which names what it waited for. Tests that wait longer say so.
  testTimeout: 60_000,
  testSequencer: '<rootDir>/tools/checks/long-tests-first.cjs',
  // Tests wait for servers as much as they compute; a fourth would slow them all down.
  // Most of the longest tests wait more than they compute: with three, two cores are idle for a seventh of the time.
  maxWorkers: 4,
  // Starting a program copies the page tables of the process that starts it: from a worker of 1.5 GB that takes 50 times as long as from
  // a small one, and tests start thousands of programs. A worker that has grown is replaced after its file.
  workerIdleMemoryLimit: '400MB',
  projects: [
    { ...unit, displayName: 'unit', testMatch: ['<rootDir>/{libs,apps,tools}/**/*.test.ts'] },
    { ...e2e, displayName: 'e2e', testMatch: ['<rootDir>/e2e/**/*.test.ts', '<rootDir>/e2e/**/*.test.tsx'] },
  ],
};

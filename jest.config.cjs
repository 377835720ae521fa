const { readFileSync } = require('node:fs');
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
 * What @caribou/testing hands on is loaded when a test first uses it: all of it together loads all other libs, which costs
 * each test file over a second.
 */
const testingIndex = '/libs/testing/src/index\\.ts$';
const handedOn = readFileSync(join(__dirname, 'libs/testing/src/index.ts'), 'utf8').matchAll(/ from '([^']+)'/g);
const swcForTesting = { ...swc, module: { ...swc.module, lazy: [...handedOn].map(([, path]) => path) } };

const shared = {
  testEnvironment: 'node',
  transform: {
    '^.+\\.tsx$': ['@swc/jest', { ...swcForJsx, swcrc: false }],
    [testingIndex]: ['@swc/jest', { ...swcForTesting, swcrc: false }],
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
  // An upper bound for a machine under load; tests that wait longer say so themselves. Projects have no say in it.
  testTimeout: 30_000,
  // With more, gVisor gets too little of two cores to end a fork bomb within the time of the engine's answer.
  maxWorkers: 2,
  projects: [
    { ...unit, displayName: 'unit', testMatch: ['<rootDir>/{libs,apps,tools}/**/*.test.ts'] },
    { ...e2e, displayName: 'e2e', testMatch: ['<rootDir>/e2e/**/*.test.ts', '<rootDir>/e2e/**/*.test.tsx'] },
  ],
};

import tseslint from 'typescript-eslint';
import { diskDoors, floors, openTo, vendorDoors } from './tools/checks/floors.cjs';

/**
 * Lint for the whole repository, with types. Formatting is Biome's, floors and cycles are dependency-cruiser's.
 * Inline configuration is off: a rule is changed here, with its reason, or not at all.
 */

const diskModules = ['fs', 'fs/promises', 'node:fs', 'node:fs/promises'];

/** Every refusal is an AppError: an exception of Nest's own loses its text on the way to the client. */
const nestExceptions = {
  group: ['@nestjs/common'],
  importNamePattern: 'Exception$',
  message: 'Throw an AppError of @caribou/contracts.',
};

/** The import rule inside `folder` ("libs/state", "apps"), whose code may import the libs in `open`. */
function importRule(folder, open, further = []) {
  const paths = [];
  const patterns = [
    { group: ['@caribou/*', ...open.map((lib) => `!@caribou/${lib}`)], message: 'Import lower floors only.' },
    ...further,
  ];
  for (const { packages, doors } of vendorDoors.filter((vendor) => !vendor.doors.includes(folder))) {
    const message = `Only ${doors.join(', ')} may import it.`;
    paths.push(...packages.filter((name) => !name.endsWith('/')).map((name) => ({ name, message })));
    patterns.push({ group: packages.map((name) => (name.endsWith('/') ? `${name}*` : `${name}/*`)), message });
  }
  if (!diskDoors.includes(folder)) {
    paths.push(...diskModules.map((name) => ({ name, message: `Only ${diskDoors.join(', ')} may open files.` })));
  }
  return { 'no-restricted-imports': ['error', { paths, patterns }] };
}

const sources = ['apps/**/*.ts', 'apps/**/*.tsx', 'libs/**/*.ts'];
const tests = [
  '**/*.test.ts',
  '**/*.test.tsx',
  'e2e/**/*.ts',
  'e2e/**/*.tsx',
  'libs/testing/**/*.ts',
  '{apps,libs}/*/src/testing/**/*.ts',
];
const scripts = ['tools/launcher/**/*.mjs', 'tools/kubernetes/**/*.mjs', 'tools/build/**/*.mjs'];

const exportAll = { selector: 'ExportAllDeclaration', message: 'Name what is exported.' };
const lostDeadline = {
  selector:
    "CallExpression[callee.object.name='AbortSignal'][callee.property.name='any'] CallExpression[callee.object.name='AbortSignal'][callee.property.name='timeout']",
  message:
    'Node collects it as garbage, and it never aborts: take deadlineSignal, or hold it in a variable that is used after the wait.',
};
const readsClock = [
  { selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']", message: 'Take the Clock.' },
  { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: 'Take the Clock.' },
];

/** What a catch or an AbortSignal hands over has no type; passing it on is right. */
const rethrown = { allowThrowingAny: true, allowThrowingUnknown: true };

const typed = {
  '@typescript-eslint/await-thenable': 'error',
  '@typescript-eslint/ban-ts-comment': 'error',
  '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
  '@typescript-eslint/no-array-delete': 'error',
  '@typescript-eslint/no-base-to-string': 'error',
  '@typescript-eslint/no-duplicate-type-constituents': 'error',
  '@typescript-eslint/no-dynamic-delete': 'error',
  '@typescript-eslint/no-empty-object-type': 'error',
  '@typescript-eslint/no-explicit-any': 'error',
  '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
  '@typescript-eslint/no-floating-promises': 'error',
  '@typescript-eslint/no-for-in-array': 'error',
  '@typescript-eslint/no-implied-eval': 'error',
  '@typescript-eslint/no-misused-promises': 'error',
  '@typescript-eslint/no-misused-spread': 'error',
  '@typescript-eslint/no-namespace': 'error',
  '@typescript-eslint/no-non-null-assertion': 'error',
  '@typescript-eslint/no-redundant-type-constituents': 'error',
  '@typescript-eslint/no-require-imports': 'error',
  '@typescript-eslint/no-unnecessary-type-assertion': 'error',
  '@typescript-eslint/no-unsafe-argument': 'error',
  '@typescript-eslint/no-unsafe-assignment': 'error',
  '@typescript-eslint/no-unsafe-call': 'error',
  '@typescript-eslint/no-unsafe-member-access': 'error',
  '@typescript-eslint/no-unsafe-return': 'error',
  '@typescript-eslint/only-throw-error': ['error', rethrown],
  '@typescript-eslint/prefer-promise-reject-errors': ['error', rethrown],
  '@typescript-eslint/require-array-sort-compare': ['error', { ignoreStringArrays: true }],
  '@typescript-eslint/restrict-plus-operands': 'error',
  '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
  '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
  '@typescript-eslint/switch-exhaustiveness-check': [
    'error',
    { allowDefaultCaseForExhaustiveSwitch: true, considerDefaultExhaustiveForUnions: true },
  ],
  '@typescript-eslint/unbound-method': 'error',
  '@typescript-eslint/use-unknown-in-catch-callback-variable': 'error',
};

const plain = {
  complexity: ['error', 12],
  eqeqeq: 'error',
  'max-depth': ['error', 4],
  'max-lines': ['error', { max: 250, skipBlankLines: true, skipComments: true }],
  'max-lines-per-function': ['error', { max: 80, skipBlankLines: true, skipComments: true }],
  'max-params': ['error', 4],
  'no-empty': 'error',
  'no-fallthrough': 'error',
  'no-param-reassign': 'error',
  'no-self-compare': 'error',
  'no-unsafe-finally': 'error',
  'no-var': 'error',
  'prefer-const': 'error',
  'require-atomic-updates': 'off',
};

export default tseslint.config(
  { ignores: ['node_modules', 'dist', 'coverage', '.caribou', '.nx', '.test-results', '*.mjs', '*.cjs'] },
  { linterOptions: { noInlineConfig: true, reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.ts', '**/*.tsx', ...scripts],
    plugins: { '@typescript-eslint': tseslint.plugin },
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: {
        project: ['./tsconfig.json', './tsconfig.dom.json'],
        tsconfigRootDir: import.meta.dirname,
        emitDecoratorMetadata: true,
        experimentalDecorators: true,
      },
    },
    rules: { ...typed, ...plain, 'no-restricted-syntax': ['error', exportAll, lostDeadline] },
  },
  {
    files: sources,
    ignores: tests,
    rules: {
      'no-console': 'error',
      'no-restricted-properties': ['error', { object: 'process', property: 'env', message: 'Only libs/config.' }],
    },
  },
  {
    files: ['apps/**/*.ts'],
    ignores: [...tests, 'apps/console/**'],
    rules: importRule('apps', floors.flat(), [nestExceptions]),
  },
  {
    files: ['apps/sandbox-agent/**/*.ts'],
    ignores: tests,
    rules: importRule('apps/sandbox-agent', floors.flat()),
  },
  {
    files: ['apps/console/**/*.ts', 'apps/console/**/*.tsx'],
    ignores: tests,
    rules: importRule('apps/console', ['contracts']),
  },
  // It answers for what Nest itself throws.
  { files: ['apps/gateway/src/http/error.filter.ts'], rules: importRule('apps', floors.flat()) },
  ...floors.flat().map((lib) => ({
    files: [`libs/${lib}/**/*.ts`],
    ignores: tests,
    rules: importRule(`libs/${lib}`, openTo(lib)),
  })),
  { files: ['libs/config/**/*.ts'], rules: { 'no-restricted-properties': 'off' } },
  {
    files: ['libs/agent/**/*.ts', 'libs/middleware/**/*.ts', 'libs/core/**/*.ts', 'libs/tools/**/*.ts'],
    ignores: [...tests, 'libs/core/src/util/clock.ts'],
    rules: { 'no-restricted-syntax': ['error', exportAll, lostDeadline, ...readsClock] },
  },
  // An index is a list of names.
  { files: ['libs/*/src/index.ts'], rules: { 'max-lines': 'off' } },
  {
    // Nest hands dependencies over by constructor.
    files: ['apps/**/*.ts', 'libs/nest/**/*.ts'],
    rules: { 'max-params': ['error', 7] },
  },
  {
    // A cast in JSDoc is not part of the syntax tree, so the rule sees JSON.parse's any.
    files: scripts,
    rules: { '@typescript-eslint/no-unsafe-assignment': 'off' },
  },
  {
    files: tests,
    rules: {
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': 'off',
      // jest's matchers take methods unbound: expect(port.put).toHaveBeenCalled().
      '@typescript-eslint/unbound-method': 'off',
      // Its asymmetric matchers (expect.any) are typed any.
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
    },
  },
);

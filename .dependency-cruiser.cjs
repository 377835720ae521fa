const { floors, apps, vendorDoors, openTo } = require('./tools/checks/floors.cjs');

/** The floors by resolved path. Tests may reach up (a middleware is tested through the loop), but enter by the index. */
const testCode = '(\\.test\\.tsx?$|^e2e/|^libs/testing/|^(apps|libs)/[^/]+/src/testing/)';

const floorRules = floors.flat().map((lib) => ({
  name: `floor-${lib}`,
  severity: 'error',
  comment: `libs/${lib} may import only lower floors.`,
  from: { path: `^libs/${lib}/`, pathNot: testCode },
  to: { path: '^(libs|apps|tools|e2e)/', pathNot: [`^libs/(${[lib, ...openTo(lib)].join('|')})/`, '^libs/testing/'] },
}));

const appRules = apps.map((app) => ({
  name: `app-${app}`,
  severity: 'error',
  comment: 'Services meet on the bus and in Redis, never by import.',
  from: { path: `^apps/${app}/` },
  to: { path: '^(apps|tools)/', pathNot: `^apps/${app}/` },
}));

const vendorRules = vendorDoors.map(({ packages, doors }) => ({
  name: `vendor-${packages[0]}`,
  severity: 'error',
  comment: `Only ${doors.join(', ')} may import it.`,
  from: { path: '^(apps|libs)/', pathNot: [testCode, ...doors.map((door) => `^${door}/`)] },
  to: { path: packages.map((name) => `node_modules/${name}${name.endsWith('/') ? '' : '/'}`) },
}));

module.exports = {
  forbidden: [
    ...floorRules,
    ...appRules,
    ...vendorRules,
    {
      name: 'lib-without-floor',
      severity: 'error',
      comment: 'A new lib is entered in tools/checks/floors.cjs.',
      from: { path: '^libs/', pathNot: `^libs/(${[...floors.flat(), 'testing'].join('|')})/` },
      to: {},
    },
    {
      name: 'contracts-need-zod-only',
      severity: 'error',
      from: { path: '^libs/contracts/', pathNot: testCode },
      to: { path: 'node_modules/', pathNot: 'node_modules/zod/' },
    },
    {
      name: 'enter-a-lib-by-its-index',
      severity: 'error',
      from: { path: '^(libs/[^/]+|apps|tools|e2e)/' },
      to: { path: '^libs/', pathNot: ['^$1/', '^libs/[^/]+/src/index\\.ts$'] },
    },
    {
      name: 'no-test-code-from-sources',
      severity: 'error',
      from: { path: '^(apps|libs|tools)/', pathNot: testCode },
      to: { path: testCode },
    },
    {
      name: 'no-dev-packages-from-sources',
      severity: 'error',
      from: { path: '^(apps|libs|tools/demo-model|tools/build)/', pathNot: testCode },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'console-takes-types-only',
      severity: 'error',
      comment: 'The console is a page: of the libs it imports the types of contracts.',
      from: { path: '^apps/console/', pathNot: '\\.test\\.tsx?$' },
      to: { path: '^libs/', dependencyTypesNot: ['type-only'] },
    },
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'not-to-unresolvable',
      severity: 'error',
      comment: 'Peers that are recorded or measured have packages of their own, installed when they run.',
      from: { pathNot: '^tools/(record-peer|bench/peer)/' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)dist/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['require', 'node', 'default', 'types'] },
  },
};

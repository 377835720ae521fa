const { dirname } = require('node:path');

/**
 * Makes a project of Nx of each folder below `apps`, `libs` and `tools` that has sources, with the targets of `nx.json`: no
 * folder needs a file of its own for it.
 */
const FOLDERS = '{apps,libs,tools}/*/{src/index.ts,src/main.ts,main.ts,server.ts,*.mjs}';

/** @type {import('nx/src/devkit-exports').CreateNodesV2} */
exports.createNodesV2 = [
  FOLDERS,
  (files) =>
    files.map((file) => {
      const root = file.split('/').slice(0, 2).join('/');
      const name = root.slice(root.indexOf('/') + 1);
      const kind = root.startsWith('libs/') ? 'library' : 'application';
      return [file, { projects: { [root]: { name, projectType: kind, targets: { build: {}, test: {}, lint: {} } } } }];
    }),
];

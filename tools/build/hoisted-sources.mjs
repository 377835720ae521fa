import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { swcSettings } from './build.mjs';
import { plainSpreads } from './plain-spreads.mjs';

/** Packages that export a class and take long to load: they are loaded when the first object of it is made. */
const loadedWhenUsed = /^dockerode$/;

/**
 * Compiles the product's TypeScript to ES modules while esbuild bundles it: functions of other modules are called directly, and modules
 * that a service does not use are left out. In `dist/` each module is CommonJS, where a call of another module's
 * function goes through a getter of its lib's index.
 *
 * @param {string} root absolute path of the repository
 * @param {string} folder absolute path of the bundles
 * @returns {import('esbuild').Plugin}
 */
export const hoistedSources = (root, folder) => ({
  name: 'hoisted-sources',
  setup: async (build) => {
    const { transform } = await import('@swc/core');
    const settings = {
      ...(await swcSettings(root)),
      module: { type: /** @type {const} */ ('es6') },
      sourceMaps: false,
    };
    const sources = [join(root, 'libs') + sep, join(root, 'apps') + sep];
    const isSource = (/** @type {string} */ path) => sources.some((start) => path.startsWith(start));

    // Loads the operator's modules with Node's own import(): a file outside of the bundle.
    build.onResolve({ filter: /\/import-module\.js$/ }, ({ path, resolveDir }) => ({
      path: relative(folder, inDist(root, join(resolveDir, path))),
      external: true,
    }));
    build.onResolve({ filter: /^@caribou\// }, ({ path }) => ({
      path: join(root, 'libs', path.slice('@caribou/'.length), 'src', 'index.ts'),
      sideEffects: false,
    }));
    build.onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir, importer }) => {
      if (!isSource(importer)) return undefined;
      const source = resolve(resolveDir, path).replace(/\.js$/, '.ts');
      return existsSync(source) ? { path: source, sideEffects: false } : undefined;
    });
    build.onResolve({ filter: loadedWhenUsed }, ({ path, importer }) =>
      isSource(importer) ? { path, namespace: 'when-used' } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: 'when-used' }, ({ path }) => ({
      contents: `export default function Loaded(...settings) { return new (require(${JSON.stringify(path)}))(...settings); }`,
      resolveDir: root,
    }));
    build.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      if (!isSource(path)) return undefined;
      const { code } = await transform(await readFile(path, 'utf8'), { ...settings, filename: path });
      return { contents: plainSpreads(inPlaceOf(code, relative(folder, inDist(root, dirname(path))))), loader: 'js' };
    });
  },
});

/** Where the build copies a file or folder of the sources to. @param {string} root @param {string} path */
const inDist = (root, path) => join(root, 'dist', relative(root, path));

/**
 * Files in the folder of a module (Lua scripts, the conversion process) are found where they are in `dist/`, seen from the bundle.
 *
 * @param {string} code
 * @param {string} folder of the module, relative to that of the bundle
 */
const inPlaceOf = (code, folder) =>
  code.replace(/\b__dirname\b/g, () => `require("node:path").join(__dirname, ${JSON.stringify(folder)})`);

import { copyFile, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Builds the product into `dist/`, path for path: `libs/state/src/redis/keys.ts` becomes `dist/libs/state/src/redis/keys.js`.
 * Every file is compiled alone by swc with the settings of `.swcrc`; `@caribou/x` becomes a relative path; files that are
 * not TypeScript (Lua scripts, skills) are copied. A file whose output is newer is skipped.
 */

const sourceFolders = ['libs', 'apps', 'tools', 'skills'];
const leftOut = new Set(['node_modules', 'dist', 'testing']);
/** Built by Vite (console.mjs). */
const console = 'apps/console';
const notProduct = /(\.test\.tsx?|\.d\.ts|\.mjs|\.cjs|(^|\/)(project|package|tsconfig[^/]*)\.json)$/;
const libIndex = /^libs\/[^/]+\/src\/index\.ts$/;
/** Outputs carry the process id until they are whole; one may belong to a build that is running. */
const halfWritten = /\.\d+$/;
const filesAtOnce = 16;

/**
 * @typedef {object} Built
 * @property {number} compiled files compiled by swc
 * @property {number} copied files copied
 * @property {number} unchanged files whose output was newer
 * @property {number} removed outputs without a source
 */

/**
 * Brings `dist/` up to date with the sources and reports what was done.
 *
 * @param {string} root absolute path of the repository
 * @param {string[]} [folders] what to build, relative to the root; everything when absent
 * @returns {Promise<Built>}
 * @throws {Error} when a file does not compile; the message names it
 */
export async function build(root, folders = sourceFolders) {
  const { transform } = await import('@swc/core');
  const swcOptions = await swcSettings(root);
  const settingsMs = Math.max(await changedAt(join(root, '.swcrc')), await changedAt(fileURLToPath(import.meta.url)));
  const sources = (await Promise.all(folders.map((folder) => filesBelow(root, folder)))).flat();
  /** @type {Built} */
  const done = { compiled: 0, copied: 0, unchanged: 0, removed: 0 };

  await eachOf(sources, async (source) => {
    const output = outputOf(source);
    const target = join(root, 'dist', output);
    const sourceMs = Math.max(await changedAt(join(root, source)), settingsMs);
    if ((await changedAt(target)) > sourceMs) {
      done.unchanged++;
      return;
    }
    await mkdir(dirname(target), { recursive: true });
    if (output === source) {
      await copyFile(join(root, source), `${target}.${process.pid}`);
      await rename(`${target}.${process.pid}`, target);
      done.copied++;
      return;
    }
    const code = await readFile(join(root, source), 'utf8');
    const compiled = await transform(code, {
      ...(libIndex.test(source) ? loadedWhenUsed(swcOptions, code) : swcOptions),
      filename: join(root, source),
      sourceFileName: relative(dirname(target), join(root, source)),
    }).catch((/** @type {unknown} */ error) => {
      throw new Error(`${source} does not compile`, { cause: error });
    });
    const map = compiled.map === undefined ? '' : `\n//# sourceMappingURL=${target.split('/').at(-1)}.map\n`;
    if (compiled.map !== undefined) await replaceFile(`${target}.map`, compiled.map);
    await replaceFile(target, withRelativeLibs(compiled.code, output) + map);
    done.compiled++;
  });
  done.removed = await removeOrphans(root, folders, new Set(sources.map(outputOf)));
  return done;
}

/**
 * The settings of `.swcrc`, read once here and not again by swc for each file.
 *
 * @param {string} root
 * @returns {Promise<import('@swc/core').Options>}
 */
export async function swcSettings(root) {
  /** @type {import('@swc/core').Options & { $schema?: string }} */
  const settings = JSON.parse(await readFile(join(root, '.swcrc'), 'utf8'));
  delete settings.$schema;
  return { ...settings, swcrc: false, configFile: false };
}

/**
 * The settings for the index of a lib: each file that it hands on is loaded when something of it is used first. A program uses
 * a part of each lib, and loading all of them takes more time than the rest of its start.
 *
 * @param {import('@swc/core').Options} options
 * @param {string} code of the index
 * @returns {import('@swc/core').Options}
 */
function loadedWhenUsed(options, code) {
  const lazy = [...new Set(Array.from(code.matchAll(/ from '([^']+)'/g), ([, path = '']) => path))];
  return { ...options, module: { type: 'commonjs', lazy } };
}

/** @param {string} source */
const outputOf = (source) => source.replace(/\.tsx?$/, '.js');

/**
 * Turns `require("@caribou/x")` and `import("@caribou/x")` into the path of the lib's index, seen from the output.
 *
 * @param {string} code
 * @param {string} output path of the file below dist
 */
function withRelativeLibs(code, output) {
  return code.replace(/\b(require|import)\("@caribou\/([a-z-]+)"\)/g, (_all, how, lib) => {
    const path = relative(dirname(output), `libs/${lib}/src/index.js`);
    return `${how}("${path.startsWith('.') ? path : `./${path}`}")`;
  });
}

/** A reader never sees half a file, even with two builds at once. @param {string} path @param {string} content */
async function replaceFile(path, content) {
  await writeFile(`${path}.${process.pid}`, content);
  await rename(`${path}.${process.pid}`, path);
}

/** When a file was changed last, in ms since 1970; 0 for a missing file. @param {string} path */
async function changedAt(path) {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}

/** @param {unknown} error */
const isMissing = (error) => error instanceof Error && 'code' in error && error.code === 'ENOENT';

/**
 * The product's files below a folder, as paths relative to the root.
 *
 * @param {string} root
 * @param {string} folder
 * @returns {Promise<string[]>}
 */
async function filesBelow(root, folder) {
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch((/** @type {unknown} */ error) => {
    if (isMissing(error)) return [];
    throw error;
  });
  const nested = entries.map(async (entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return leftOut.has(entry.name) || path === console ? [] : filesBelow(root, path);
    return entry.isFile() && !notProduct.test(path) ? [path] : [];
  });
  return (await Promise.all(nested)).flat();
}

/** @param {string} root @param {string[]} folders @param {ReadonlySet<string>} outputs */
async function removeOrphans(root, folders, outputs) {
  let removed = 0;
  const present = (await Promise.all(folders.map((folder) => filesBelow(join(root, 'dist'), folder)))).flat();
  await eachOf(present, async (path) => {
    if (outputs.has(path.replace(/\.map$/, '')) || halfWritten.test(path)) return;
    await rm(join(root, 'dist', path), { force: true });
    removed++;
  });
  return removed;
}

/**
 * @template T
 * @param {T[]} items
 * @param {(item: T) => Promise<void>} work
 */
async function eachOf(items, work) {
  const waiting = [...items];
  const worker = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: filesAtOnce }, worker));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const began = Date.now();
  const folders = process.argv.length > 2 ? process.argv.slice(2) : sourceFolders;
  const done = await build(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), folders);
  const parts = Object.entries(done).map(([what, count]) => `${count} ${what}`);
  process.stdout.write(`built in ${Date.now() - began} ms: ${parts.join(', ')}\n`);
}

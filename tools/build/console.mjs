import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/**
 * Builds the console, a page of static files, into `dist/console`. Asset paths are relative, so that it works below any path. Beside each
 * file that gets smaller are its compressed forms, `.br` and `.gz`, which the gateway sends as they are.
 */

/** Files of these kinds are text; images and fonts are compressed already. */
const compressible = /\.(?:css|html|js|json|svg)$/;
/** Files of code in which modules that the first page needs are put together. */
const ofFirstPage = [
  {
    name: 'libraries',
    test: /\/node_modules\/(react|react-dom|scheduler|react-router|@tanstack|@base-ui|@floating-ui)\//,
  },
  { name: 'shared', test: /\/apps\/console\/src\/(api\/|shell\/|components\/[^/]+$|text\/(shared|frame|format)\.ts$)/ },
];
/** A folder of a build carries its process id until it is whole. */
const halfBuilt = /^console\.\d+$/;
const ABANDONED_MS = 3_600_000;
const SWAP_ATTEMPTS = 5;

/**
 * Builds the console when one of its sources is newer than what is there.
 *
 * @param {string} root absolute path of the repository
 * @returns {Promise<boolean>} whether it was built
 * @throws {Error} when a file does not compile; the message names it
 */
export async function buildConsole(root) {
  const folder = join(root, 'apps', 'console');
  const target = join(root, 'dist', 'console');
  const inputs = [join(root, 'package-lock.json'), fileURLToPath(import.meta.url)];
  const changedMs = Math.max(await newestOf(folder), ...(await Promise.all(inputs.map(changedAt))));
  if ((await changedAt(join(target, 'index.html'))) > changedMs) return false;
  await mkdir(join(root, 'dist'), { recursive: true });
  await removeAbandoned(join(root, 'dist'));
  const outDir = `${target}.${process.pid}`;
  try {
    await buildWithVite({
      configFile: false,
      root: folder,
      base: './',
      logLevel: 'error',
      build: {
        outDir,
        emptyOutDir: true,
        target: 'es2022',
        // As data: URLs small files would need an exception in the page's policy.
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        // What the first page needs is in few files: a browser asks for six at a time.
        rolldownOptions: { output: { codeSplitting: { groups: ofFirstPage } } },
        reportCompressedSize: false,
        chunkSizeWarningLimit: 1_000,
      },
    });
    await compressFiles(outDir);
    await swapFolders(outDir, target);
  } finally {
    await rm(outDir, { recursive: true, force: true });
  }
  return true;
}

/**
 * Vite sets `NODE_ENV`, which would reach the processes that are started after the build, tests for example.
 *
 * @param {import('vite').InlineConfig} config
 */
async function buildWithVite(config) {
  const { build } = await import('vite');
  const before = process.env['NODE_ENV'];
  try {
    await build(config);
  } finally {
    if (before === undefined) delete process.env['NODE_ENV'];
    else process.env['NODE_ENV'] = before;
  }
}

/**
 * Writes the compressed forms of all files below a folder.
 *
 * @param {string} folder
 */
async function compressFiles(folder) {
  const names = await readdir(folder, { recursive: true });
  for (const name of names.filter((each) => compressible.test(each))) {
    const path = join(folder, name);
    const content = await readFile(path);
    const brotli = await promisify(brotliCompress)(content, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.byteLength },
    });
    const gzipped = await promisify(gzip)(content, { level: 9 });
    if (brotli.byteLength < content.byteLength) await writeFile(`${path}.br`, brotli);
    if (gzipped.byteLength < content.byteLength) await writeFile(`${path}.gz`, gzipped);
  }
}

/** Replaces a folder by a new one; another build may do the same at the same time. @param {string} from @param {string} to */
async function swapFolders(from, to) {
  for (let attempt = 1; ; attempt++) {
    await rm(to, { recursive: true, force: true });
    try {
      await rename(from, to);
      return;
    } catch (error) {
      const isTaken = error instanceof Error && 'code' in error && ['ENOTEMPTY', 'EEXIST'].includes(String(error.code));
      if (!isTaken || attempt === SWAP_ATTEMPTS) throw error;
    }
  }
}

/** Removes what builds left that were killed. @param {string} dist */
async function removeAbandoned(dist) {
  for (const name of (await readdir(dist)).filter((each) => halfBuilt.test(each))) {
    const path = join(dist, name);
    if (Date.now() - (await changedAt(path)) > ABANDONED_MS) await rm(path, { recursive: true, force: true });
  }
}

/** @param {string} folder @returns {Promise<number>} ms since 1970 */
async function newestOf(folder) {
  const entries = await readdir(folder, { recursive: true });
  return Math.max(...(await Promise.all(entries.map((path) => changedAt(join(folder, path))))));
}

/** @param {string} path @returns {Promise<number>} ms since 1970; 0 for a missing file */
async function changedAt(path) {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 0;
    throw error;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const built = await buildConsole(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
  process.stdout.write(`console ${built ? 'built' : 'unchanged'}\n`);
}

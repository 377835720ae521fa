import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Builds the console, a page of static files, into `dist/console`. Asset paths are relative, so that it works below any path.
 */

/**
 * Builds the console when one of its sources is newer than what is there.
 *
 * @param {string} root absolute path of the repository
 * @returns {Promise<boolean>} whether it was built
 * @throws {Error} when a file does not compile; the message names it
 */
export async function buildConsole(root) {
  const folder = join(root, 'apps', 'console');
  const outDir = join(root, 'dist', 'console');
  const builtMs = await changedAt(join(outDir, 'index.html'));
  if (builtMs > (await newestOf(folder)) && builtMs > (await changedAt(join(root, 'package-lock.json')))) return false;
  const { build } = await import('vite');
  await build({
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
      reportCompressedSize: false,
      chunkSizeWarningLimit: 1_000,
    },
  });
  return true;
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

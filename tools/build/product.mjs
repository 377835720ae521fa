import { readdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { bundle } from './bundle.mjs';
import { bundleAgent } from './bundle-agent.mjs';
import { buildConsole } from './console.mjs';

/**
 * Brings all of `dist/` up to date: every file path for path, a bundle per service and that of the sandbox agent when something in them changed, and the console.
 *
 * @param {string} root absolute path of the repository
 * @returns {Promise<string>} a description of what was done
 * @throws {Error} when a file does not compile or a service cannot be bundled; the message names it
 */
export async function buildProduct(root) {
  const began = Date.now();
  const { compiled, copied, unchanged, removed } = await build(root);
  const stamp = join(root, 'dist', 'services', '.bundled');
  const stale = removed > 0 || (await changedAt(stamp)) <= (await newestInput(root));
  if (stale) {
    await bundle(root);
    await bundleAgent(root);
    await writeFile(stamp, '');
  }
  const builtConsole = await buildConsole(root);
  const counts = `${compiled} compiled, ${copied} copied, ${unchanged} unchanged, ${removed} removed`;
  return `build: ${counts}, services ${stale ? 'bundled' : 'unchanged'}, console ${builtConsole ? 'built' : 'unchanged'}, ${Date.now() - began} ms`;
}

/** When the newest input of a bundle was changed, in ms since 1970. @param {string} root */
async function newestInput(root) {
  const paths = [
    join(root, 'package-lock.json'),
    ...['bundle.mjs', 'hoisted-sources.mjs', 'plain-spreads.mjs', 'bundle-agent.mjs', 'start.cjs'].map((name) =>
      fileURLToPath(new URL(name, import.meta.url)),
    ),
  ];
  for (const folder of ['apps', 'libs']) {
    const below = join(root, 'dist', folder);
    const entries = await readdir(below, { recursive: true });
    paths.push(...entries.filter((path) => path.endsWith('.js')).map((path) => join(below, path)));
  }
  return Math.max(...(await Promise.all(paths.map(changedAt))));
}

/** @param {string} path @returns {Promise<number>} 0 for a missing file */
async function changedAt(path) {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 0;
    throw error;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.stdout.write(`${await buildProduct(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))}\n`);

import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Bundles the agent of sandbox pods into one file, `dist/sandbox-agent/sandbox-agent.js`, which needs Node and no package. Of the libs only what
 * the agent uses is in it: their modules do nothing but declare things.
 *
 * @param {string} root absolute path of the repository
 * @returns {Promise<string>} path of the file
 * @throws {Error} when it cannot be bundled; the message names the file
 */
export async function bundleAgent(root) {
  const esbuild = await import('esbuild');
  const folder = join(root, 'dist', 'sandbox-agent');
  await mkdir(folder, { recursive: true });
  const { outputFiles } = await esbuild.build({
    entryPoints: [join(root, 'apps', 'sandbox-agent', 'src', 'main.ts')],
    outfile: join(folder, 'sandbox-agent.js'),
    bundle: true,
    write: false,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    minifySyntax: true,
    legalComments: 'none',
    logLevel: 'error',
    tsconfig: join(root, 'tsconfig.base.json'),
    plugins: [onlyWhatIsUsed(root)],
  });
  const path = join(folder, 'sandbox-agent.js');
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, outputFiles[0]?.text ?? '');
  await rename(draft, path);
  return path;
}

/**
 * @param {string} root
 * @returns {import('esbuild').Plugin}
 */
const onlyWhatIsUsed = (root) => ({
  name: 'only-what-is-used',
  setup: (build) => {
    build.onResolve({ filter: /^(@caribou\/|\.)/ }, async ({ path, pluginData, ...options }) => {
      if (pluginData === 'resolved') return undefined;
      const { importer, kind, namespace, resolveDir } = options;
      const found = await build.resolve(path, { importer, kind, namespace, resolveDir, pluginData: 'resolved' });
      return found.path.startsWith(join(root, 'libs')) ? { ...found, sideEffects: false } : found;
    });
  },
});

import { copyFile, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hoistedSources } from './hoisted-sources.mjs';

/**
 * Bundles each service with the packages it uses into one file, started by `dist/services/<app>.js`: a service starts in a third of
 * the time when Node reads one file instead of two thousand, and its functions call each other directly.
 */

export const services = ['gateway', 'agent-runner', 'sandbox-manager', 'memory-worker', 'subagent-pool'];

/** Packages that load files from their own folder, or are native. */
const leftOutside = ['dockerode', 'pino', 'swagger-ui-dist'];

/** Packages that NestJS loads only when their feature is used; none is installed. */
const notInstalled = [
  ...['@nestjs/websockets', '@nestjs/websockets/*', '@nestjs/platform-express', '@nestjs/platform-socket.io'],
  ...[
    '@fastify/static',
    '@fastify/view',
    '@grpc/grpc-js',
    '@grpc/proto-loader',
    'class-transformer',
    'class-validator',
  ],
  ...['amqp-connection-manager', 'amqplib', 'kafkajs', 'mqtt'],
];

/** Files carry the process id until they are whole; one may belong to a build or a start that is running. */
const halfWritten = /\.\d+$/;

/**
 * @param {string} root absolute path of the repository, whose `dist/` is up to date
 * @returns {Promise<void>}
 * @throws {Error} when a service cannot be bundled; the message names the file
 */
export async function bundle(root) {
  const esbuild = await import('esbuild');
  const folder = join(root, 'dist', 'services');
  await mkdir(folder, { recursive: true });
  const { outputFiles } = await esbuild.build({
    entryPoints: Object.fromEntries(services.map((app) => [app, join(root, 'apps', app, 'src', 'main.ts')])),
    outdir: folder,
    bundle: true,
    write: false,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    // Within a bundle `import()` is `require()`; modules of the operator are loaded by a file outside of it.
    supported: { 'dynamic-import': false },
    legalComments: 'none',
    external: [...leftOutside, ...notInstalled],
    logLevel: 'error',
    plugins: [hoistedSources(root, folder)],
  });
  const starter = 'start.cjs';
  const current = new Set(['.bundled', '.compile-cache', starter]);
  /** @param {string} name @param {string | Uint8Array} content */
  const put = async (name, content) => {
    current.add(name);
    await writeFile(join(folder, `${name}.${process.pid}`), content);
    await rename(join(folder, `${name}.${process.pid}`), join(folder, name));
  };
  await copyFile(join(dirname(fileURLToPath(import.meta.url)), starter), join(folder, starter));
  for (const { path, text } of outputFiles) {
    const app = basename(path, '.js');
    await put(`${app}.bundle.js`, asciiOf(sameShapes(text)));
    await put(`${app}.js`, `require('./${starter}').start('${app}.bundle.js');\n`);
  }
  for (const name of await readdir(folder))
    if (!current.has(name) && !halfWritten.test(name)) await rm(join(folder, name), { force: true });
}

/**
 * The same code without any character beyond ASCII: with one of them, of a regular expression or a comment, V8 stores all
 * eleven million characters of a service at two bytes each. esbuild escapes those of strings itself.
 *
 * @param {string} code
 */
const asciiOf = (code) =>
  code.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * esbuild wraps each CommonJS module in an object whose only property is its path: two thousand shapes of one property, more than V8
 * remembers for all objects of one property. Then an object such as `{ messages }` gets a hidden class of its own each time
 * one is made. Nothing reads that property's name, so all get the same one.
 *
 * @param {string} code
 */
const sameShapes = (code) =>
  code.replace(/(__(?:commonJS|esm)\(\{\n {2})"[^"]+"\(/g, (_all, start) => `${start}module(`);

import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runCommand, tail } from '../../launcher/processes/run-command.mjs';
import { LauncherError, step } from '../../launcher/processes/terminal.mjs';
import { inRepository, repository } from '../../launcher/repository.mjs';
import { imageFile } from '../lab/layout.mjs';
import { layerOf, packLayer, writeArchive } from './archive.mjs';
import { rootFileSystem } from './root-file-system.mjs';
import { agentFiles } from './sandbox-agent.mjs';

/**
 * The images of a trial, made of this machine's node, what was built and Debian's packages. They have the files that the Dockerfiles give
 * the published ones, and need neither a registry nor an engine.
 */

export const images = {
  product: 'caribou:lab',
  sandbox: 'caribou-sandbox:lab',
  objects: 'caribou-s3:lab',
  nats: 'caribou-nats:lab',
  redis: 'caribou-redis:lab',
};

const timeoutMs = 5 * 60_000;
const objectsPort = 7070;
const bucket = 'caribou';

/** @typedef {import('./archive.mjs').Layer} Layer */

/**
 * Packages all images into one archive.
 *
 * @param {{ signal: AbortSignal }} options
 * @returns {Promise<string>} the archive
 * @throws {LauncherError} when something that the images consist of cannot be made
 */
export async function buildImages({ signal }) {
  const debian = await layerOf(await rootFileSystem({ signal }));
  const { buildProduct } = await import('../../build/product.mjs');
  await step('build', () => buildProduct(repository));
  const archive = imageFile('trial.tar');
  await step('images', async () => {
    const [node, product, objects, agent] = [
      await nodeLayer(),
      await productLayer(),
      await objectsLayer(),
      await agentLayer(),
    ];
    const service = { User: '1000', Env: ['NODE_ENV=production', path] };
    await writeArchive(archive, [
      {
        name: images.product,
        layers: [debian, node, product],
        config: { ...service, WorkingDir: '/app', Entrypoint: ['/app/docker/entrypoint.sh'], Cmd: ['gateway'] },
      },
      {
        name: images.sandbox,
        layers: [debian, agent],
        config: { User: '10001', Env: [path], Cmd: ['sleep', 'infinity'] },
      },
      { name: images.objects, layers: [debian, node, objects], config: { ...service, Entrypoint: objectsCommand } },
      { name: images.nats, layers: [debian], config: { User: '1000', Env: [path], Cmd: ['nats-server'] } },
      { name: images.redis, layers: [debian], config: { User: '1000', Env: [path], Cmd: ['redis-server'] } },
    ]);
  });
  return archive;
}

const path = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const objectsCommand = [
  // Continuation tokens of its lists need an old cipher.
  ...['node', '--openssl-legacy-provider', '/srv/node_modules/s3rver/bin/s3rver.js', '--directory', '/data'],
  ...['--address', '0.0.0.0', '--port', String(objectsPort), '--silent'],
  ...['--no-vhost-buckets', '--configure-bucket', bucket],
];

/** An empty folder for the files of a layer. @param {string} name */
function stage(name) {
  const folder = imageFile(`${name}.files`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** @param {string} name @param {string} folder @returns {Promise<Layer>} */
async function pack(name, folder) {
  const layer = await packLayer(folder, imageFile(`${name}.layer.tar`));
  rmSync(folder, { recursive: true });
  return layer;
}

/** The node that runs this script, with npm's folders left out. */
async function nodeLayer() {
  const folder = stage('node');
  mkdirSync(join(folder, 'usr', 'local', 'bin'), { recursive: true });
  copyFileSync(process.execPath, join(folder, 'usr', 'local', 'bin', 'node'));
  chmodSync(join(folder, 'usr', 'local', 'bin', 'node'), 0o755);
  return await pack('node', folder);
}

/** What the last stage of the Dockerfile copies. */
async function productLayer() {
  const folder = stage('product');
  const app = join(folder, 'app');
  await copyPackages(productionPackages(), app);
  const [, list = ''] = /&& rm -rf ([\s\S]*?)\n\n/.exec(readFileSync(inRepository('Dockerfile'), 'utf8')) ?? [];
  if (!list.includes('node_modules/'))
    throw new LauncherError('Dockerfile does not remove packages of the build as expected');
  await run('sh', ['-c', `cd "$0" && rm -rf ${list.replaceAll('\\\n', ' ')}`, app]);
  for (const part of ['apps', 'libs', 'services', 'console', 'tools/access', 'tools/demo-model'])
    if (existsSync(inRepository('dist', part))) await copy(inRepository('dist', part), join(app, 'dist', part));
  for (const file of ['package.json', 'docker/entrypoint.sh', 'docker/healthcheck.mjs'])
    cpSync(inRepository(file), join(app, file));
  if (existsSync(inRepository('dist', 'skills')))
    await copy(inRepository('dist', 'skills'), join(app, 'dist', 'skills'));
  return await pack('product', folder);
}

/** s3rver, which the tests use too. */
async function objectsLayer() {
  const folder = stage('objects');
  await copyPackages(dependenciesOf('s3rver'), join(folder, 'srv'));
  mkdirSync(join(folder, 'data'));
  chmodSync(join(folder, 'data'), 0o777);
  return await pack('objects', folder);
}

async function agentLayer() {
  const folder = stage('sandbox');
  await agentFiles(folder);
  return await pack('sandbox', folder);
}

/** @typedef {{ dev?: boolean, link?: boolean, dependencies?: Record<string, string> }} Locked */

/** @returns {Record<string, Locked>} the packages of the lock file by their path */
function locked() {
  /** @type {{ packages: Record<string, Locked> }} */
  const file = JSON.parse(readFileSync(inRepository('package-lock.json'), 'utf8'));
  return file.packages;
}

/** Paths of the packages that services need and that are installed here. @returns {string[]} */
const productionPackages = () =>
  Object.entries(locked()).flatMap(([name, { dev, link }]) =>
    /^node_modules\/(@[^/]+\/)?[^/]+$/.test(name) && dev !== true && link !== true && existsSync(inRepository(name))
      ? [name]
      : [],
  );

/** Paths, at the top, of a package and all that it needs. @param {string} name @returns {string[]} */
function dependenciesOf(name) {
  const all = locked();
  const found = new Set([`node_modules/${name}`]);
  for (const one of found)
    for (const needed of Object.keys(all[one]?.dependencies ?? {})) {
      const path = resolved(needed, one, all);
      if (path !== undefined) found.add(path);
    }
  return [...found].filter((path) => path.lastIndexOf('node_modules/') === 0);
}

/** Where a package finds another one: in its own folder, or in that of what it is in. @param {string} name @param {string} from @param {Record<string, Locked>} all */
function resolved(name, from, all) {
  for (let folder = from; folder !== ''; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const path = `${folder}/node_modules/${name}`;
    if (all[path] !== undefined) return path;
  }
  return all[`node_modules/${name}`] === undefined ? undefined : `node_modules/${name}`;
}

/** @param {string[]} paths @param {string} to */
async function copyPackages(paths, to) {
  for (const one of paths) mkdirSync(dirname(join(to, one)), { recursive: true });
  const pairs = paths.flatMap((one) => [inRepository(one), join(to, one)]);
  await run('sh', ['-c', 'while [ $# -gt 0 ]; do cp -al "$1" "$2" || exit 1; shift 2; done', 'sh', ...pairs]);
}

/** Links the files of a folder, which are not changed. @param {string} from @param {string} to */
async function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  await run('cp', ['-al', from, to]);
}

/** @param {string} file @param {string[]} args */
async function run(file, args) {
  const { code, output } = await runCommand(file, args, { timeoutMs });
  if (code !== 0) throw new LauncherError(`${file} failed:\n${tail(output, 5)}`);
}

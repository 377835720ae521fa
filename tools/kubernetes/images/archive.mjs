import { createHash } from 'node:crypto';
import { createReadStream, mkdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { runCommand, tail } from '../../launcher/processes/run-command.mjs';
import { LauncherError } from '../../launcher/processes/terminal.mjs';

/** Archives of images in the form that `docker save` writes: nothing is pulled, and no engine is needed. */

/**
 * @typedef {object} Layer a file system, or what it adds to the layers before it
 * @property {string} file the tar archive
 * @property {string} digest
 *
 * @typedef {object} ImageContent
 * @property {string} name with its tag
 * @property {Layer[]} layers the lowest first
 * @property {{ Entrypoint?: string[], Cmd?: string[], User?: string, WorkingDir?: string, Env?: string[] }} config
 */

const timeoutMs = 5 * 60_000;
const architectures = { x64: 'amd64', arm64: 'arm64' };

/** @param {string[]} args */
async function tar(...args) {
  const { code, output } = await runCommand('nice', ['-n', '5', 'tar', ...args], { timeoutMs });
  if (code !== 0) throw new LauncherError(`tar failed: ${tail(output, 3)}`);
}

/** A tar archive as a layer. @param {string} file @returns {Promise<Layer>} */
export async function layerOf(file) {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return { file, digest: hash.digest('hex') };
}

/** Packs a folder, all of which belongs to root, as a layer. @param {string} folder @param {string} file @returns {Promise<Layer>} */
export async function packLayer(folder, file) {
  // The same content is the same layer, which a node does not unpack again.
  const always = ['--owner=0', '--group=0', '--numeric-owner', '--sort=name', '--mtime=@0', '--hard-dereference'];
  await tar('-C', folder, ...always, '-cf', file, '.');
  return await layerOf(file);
}

/**
 * Writes images into one archive, which has each layer once.
 *
 * @param {string} archive
 * @param {ImageContent[]} images
 */
export async function writeArchive(archive, images) {
  const work = `${archive}.work`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  const layers = new Map(images.flatMap((image) => image.layers.map((layer) => [layer.digest, layer.file])));
  for (const [digest, file] of layers) symlinkSync(file, join(work, `${digest}.tar`));
  const manifest = images.map(({ name, layers: own, config }) => {
    const content = JSON.stringify({
      architecture: architectures[/** @type {'x64' | 'arm64'} */ (process.arch)],
      os: 'linux',
      config,
      rootfs: { type: 'layers', diff_ids: own.map(({ digest }) => `sha256:${digest}`) },
    });
    const file = `${createHash('sha256').update(content).digest('hex')}.json`;
    writeFileSync(join(work, file), content);
    return { Config: file, RepoTags: [name], Layers: own.map(({ digest }) => `${digest}.tar`) };
  });
  writeFileSync(join(work, 'manifest.json'), JSON.stringify(manifest));
  const files = [
    'manifest.json',
    ...manifest.map(({ Config }) => Config),
    ...[...layers.keys()].map((one) => `${one}.tar`),
  ];
  await tar('-C', work, '--dereference', '-cf', `${archive}.part`, ...new Set(files));
  renameSync(`${archive}.part`, archive);
  rmSync(work, { recursive: true, force: true });
}

/** Whether a file was written after another. @param {string} file @param {string} than @returns {boolean} */
export const isNewer = (file, than) =>
  (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) > (statSync(than, { throwIfNoEntry: false })?.mtimeMs ?? 0);

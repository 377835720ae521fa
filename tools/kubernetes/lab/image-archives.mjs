import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isNewer, packLayer, writeArchive } from '../images/archive.mjs';
import { built, imageFile } from './layout.mjs';

/** The images that the cluster itself needs, of one static program each. */

export const pauseImage = 'caribou.lab/pause:1';
export const dnsImage = 'caribou.lab/coredns:1';

/**
 * Packs a static program as an image.
 *
 * @param {string} name of the image
 * @param {string} program the file
 * @returns {Promise<string>} the archive
 */
async function packProgram(name, program) {
  const archive = imageFile(`${basename(program)}.tar`);
  if (isNewer(archive, program)) return archive;
  const folder = imageFile(`${basename(program)}.files`);
  mkdirSync(folder, { recursive: true });
  copyFileSync(program, join(folder, basename(program)));
  const layer = await packLayer(folder, `${folder}.tar`);
  await writeArchive(archive, [{ name, layers: [layer], config: { Entrypoint: [`/${basename(program)}`] } }]);
  for (const path of [folder, layer.file]) rmSync(path, { recursive: true });
  return archive;
}

/** The archives of the system's images. @returns {Promise<string[]>} */
export const packSystemImages = async () => [
  await packProgram(pauseImage, built('pause')),
  await packProgram(dnsImage, built('coredns')),
];

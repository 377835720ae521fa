import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { ZipSource } from '../open-zip.js';

/** An archive on the disk as `unpackSkill` reads it. */
export async function zipOf(handle: FileHandle): Promise<ZipSource> {
  const content = await handle.readFile();
  return { size: content.length, stream: ({ start, end }) => Readable.from([content.subarray(start, end + 1)]) };
}

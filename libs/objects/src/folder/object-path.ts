import { dirname, join, sep } from 'node:path';

/**
 * Objects lie in nested directories by the parts of their keys. Their files end with a character that no key has, so that `a` and
 * `a/b` can both be objects; what else lies in the folder is not an object.
 */
const FILE_END = '=';

/** The directory of files that are being written, in the root of the store; no key has upper-case letters. */
export const temporaryDirectory = (root: string): string => join(root, 'TEMPORARY');

/** The file of an object. The key was checked: it cannot lead out of the root. */
export const fileOf = (root: string, key: string): string => join(root, ...key.split('/')) + FILE_END;

/** The last part of the key of a file, or undefined for a file that is no object. */
export const segmentOf = (fileName: string): string | undefined =>
  fileName.endsWith(FILE_END) ? fileName.slice(0, -FILE_END.length) : undefined;

/** The directories above a file, up to the root, which is the last. */
export function directoriesOf(root: string, file: string): string[] {
  const found: string[] = [];
  for (let directory = dirname(file); directory.startsWith(root + sep); directory = dirname(directory))
    found.push(directory);
  return [...found, root];
}

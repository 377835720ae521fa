import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Debian installs servers in /usr/sbin, which is not on an ordinary user's PATH. */
const systemFolders = ['/usr/sbin', '/usr/local/sbin', '/sbin', '/usr/local/bin', '/opt/homebrew/bin'];

/** Folders of programs unpacked for this data folder, see unpackPackages(). @param {string} unpacked */
const unpackedFolders = (unpacked) => ['usr/bin', 'usr/sbin', 'bin', 'sbin'].map((folder) => join(unpacked, folder));

/**
 * PATH for programs and services: the caller's, the system's server folders, and what was unpacked.
 *
 * @param {string} unpacked
 */
export function searchPath(unpacked) {
  const own = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return [...new Set([...own, ...systemFolders, ...unpackedFolders(unpacked)])].join(delimiter);
}

/**
 * Absolute path of a program, or undefined.
 *
 * @param {string} name
 * @param {string} path folders, as in PATH
 * @returns {string | undefined}
 */
export function findProgram(name, path) {
  return path
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/**
 * The environment in which programs of an unpacked package find its libraries.
 *
 * @param {string} unpacked
 * @returns {{ LD_LIBRARY_PATH?: string }}
 */
export function libraryEnvironment(unpacked) {
  const root = join(unpacked, 'usr', 'lib');
  if (!existsSync(root)) return {};
  const folders = readdirSync(root).filter((name) => name.endsWith('-linux-gnu'));
  const own = process.env['LD_LIBRARY_PATH'];
  return {
    LD_LIBRARY_PATH: [...folders.map((name) => join(root, name)), ...(own === undefined ? [] : [own])].join(delimiter),
  };
}

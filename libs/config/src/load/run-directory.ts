import { accessSync, constants } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Environment, variable } from '../common/references.js';

const SYSTEM_DIRECTORY = '/run';
/** The user of the process where the platform has no users. */
const NO_USER = 0;

/**
 * The directory for what belongs to a machine and not to the data volume, absolute: CARIBOU_RUN_DIR, else
 * `defaultRunDirectory`.
 */
export function readRunDirectory({ env, cwd }: { readonly env: Environment; readonly cwd: string }): string {
  const own = variable(env, 'CARIBOU_RUN_DIR');
  return own === undefined ? defaultRunDirectory(process.getuid?.() ?? NO_USER) : resolve(cwd, own);
}

/**
 * `/run/caribou` for root where /run can be written; else a directory of this user among the temporary files, whose
 * owner its user has to check.
 */
export function defaultRunDirectory(uid: number, systemDirectory = SYSTEM_DIRECTORY): string {
  if (uid === 0 && isWritable(systemDirectory)) return join(systemDirectory, 'caribou');
  return join(tmpdir(), `caribou-${uid}`);
}

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

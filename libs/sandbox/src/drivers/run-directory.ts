import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { AppError, UnavailableError } from '@caribou/contracts';
import { errnoOf } from '@caribou/core';
import { closeDirectory } from './closed-directory.js';

const OTHERS_WRITE = 0o022;
const STICKY = 0o1000;
const NAME_CHARACTERS = 12;

/** An installation's part of CARIBOU_RUN_DIR: another data folder on the same machine has another one. */
export const runDirectoryName = (home: string): string =>
  createHash('sha256').update(home).digest('hex').slice(0, NAME_CHARACTERS);

/**
 * Makes an installation's directory below CARIBOU_RUN_DIR, closed to the machine's other users, and the one above it if
 * that is missing. Both may lie where everyone can write, so what somebody else has made there is refused. Idempotent.
 *
 * @throws {UnavailableError} naming the variable and the reason
 */
export function prepareRunDirectory(path: string): void {
  try {
    const above = dirname(path);
    if (mkdirSync(above, { recursive: true, mode: 0o700 }) !== undefined) closeDirectory(above);
    requireOwn(above);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    requireOwn(path);
    closeDirectory(path);
  } catch (error) {
    const code = errnoOf(error);
    if (code === undefined || error instanceof AppError) throw error;
    throw unusable(path, code, error);
  }
}

/** @throws {UnavailableError} when another user could replace what is in the directory */
function requireOwn(path: string): void {
  const stat = lstatSync(path);
  if (!stat.isDirectory()) throw unusable(path, 'it is no directory');
  if (stat.uid !== process.getuid?.() && stat.uid !== 0) throw unusable(path, `it belongs to the user ${stat.uid}`);
  if ((stat.mode & OTHERS_WRITE) !== 0 && (stat.mode & STICKY) === 0)
    throw unusable(path, 'other users may write to it');
}

const unusable = (path: string, reason: string, cause?: unknown): UnavailableError =>
  new UnavailableError(`CARIBOU_RUN_DIR: ${path} cannot be used (${reason}); name another directory of this machine`, {
    cause,
    details: { dependency: 'sandbox' },
  });

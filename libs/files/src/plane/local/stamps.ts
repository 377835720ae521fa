import type { Stats } from 'node:fs';
import { PERMISSION_BITS } from '../tree/tree-nodes.js';

/** What the file system says of an entry. With the same stamp a file has the same bytes, as every change moves its ctime. */
export interface Stamp {
  readonly kind: 'file' | 'directory' | 'link' | 'special';
  readonly ino: number;
  /** Permission bits. */
  readonly mode: number;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since the epoch, with their fraction. */
  readonly mtimeMs: number;
  readonly ctimeMs: number;
}

/** The last millisecond of the year 9999; file systems admit times that no clock shows. */
const MAX_TIME_MS = 253_402_300_799_999;

/** A time of modification as trees have it. */
export const modifiedMsOf = ({ mtimeMs }: Pick<Stamp, 'mtimeMs'>): number =>
  Math.min(Math.max(Math.round(mtimeMs), 0), MAX_TIME_MS);

export function stampOf(stats: Stats): Stamp {
  const { ino, mode, size, mtimeMs, ctimeMs } = stats;
  return { kind: kindOf(stats), ino, mode: mode & PERMISSION_BITS, size, mtimeMs, ctimeMs };
}

function kindOf(stats: Stats): Stamp['kind'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  return stats.isSymbolicLink() ? 'link' : 'special';
}

/** Whether an entry is the one that had the stamp, unchanged. Times of a directory say nothing about its own node. */
export function sameStamp(left: Stamp, right: Stamp): boolean {
  if (left.kind !== right.kind || left.ino !== right.ino) return false;
  if (left.kind === 'directory') return left.mode === right.mode;
  if (left.kind === 'link') return left.ctimeMs === right.ctimeMs;
  return (
    left.mode === right.mode &&
    left.size === right.size &&
    left.mtimeMs === right.mtimeMs &&
    left.ctimeMs === right.ctimeMs
  );
}

import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const MEMORY_DISK = '/dev/shm';
const MEMORY_DISK_BYTES = 1024 ** 3;

/**
 * The root of folders that must not depend on the disk: in memory, where there is space.
 *
 * While a sync of its file takes long, Redis answers writes that are not in the file for up to two seconds, so a kill -9 then loses
 * them; and a disk that others synchronise takes seconds for a thousand files.
 */
export function rootInMemory(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_DISK);
    return bavail * bsize >= MEMORY_DISK_BYTES ? MEMORY_DISK : tmpdir();
  } catch {
    return tmpdir();
  }
}

import { closeSync, constants, fchownSync, fstatSync, lchownSync, lstatSync, openSync, readdirSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { UnavailableError } from '@caribou/contracts';
import { type CommandIdentity, DATA_DIRECTORIES, errnoOf } from '@caribou/core';

/** Limits of one walk: nesting, as each level has an open descriptor, and time in milliseconds. */
const LIMITS = { depth: 256, timeMs: 60_000 };
const ENTRIES_PER_TURN = 128;
const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Errors of an entry that was removed or replaced after it was listed. */
const gone = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ESTALE']);

interface Walk {
  readonly owner: CommandIdentity;
  readonly endsAtMs: number;
  count: number;
}

/**
 * Gives everything in a thread's data directory to another user, the directory itself last: a walk that ended halfway is
 * seen by that, and the next one has less to do. Every entry is changed through the descriptor of its directory and no
 * link is followed. The kernel takes the set-id bits from files that change their owner.
 *
 * @throws {UnavailableError} when it takes more than a minute, or directories are nested deeper than 256 levels
 * @throws a system error when the directory cannot be opened or its file system refuses
 */
export async function giveTree(path: string, owner: CommandIdentity): Promise<void> {
  const walk = { owner, endsAtMs: performance.now() + LIMITS.timeMs, count: 0 };
  const top = openSync(path, DIRECTORY);
  try {
    for (const name of DATA_DIRECTORIES) await giveEntry(`/proc/self/fd/${top}/${name}`, walk, 1);
    fchownSync(top, owner.uid, owner.gid);
  } finally {
    closeSync(top);
  }
}

async function giveEntry(path: string, walk: Walk, depth: number): Promise<void> {
  const stat = unlessGone(() => lstatSync(path));
  if (stat === undefined) return;
  walk.count += 1;
  if (walk.count % ENTRIES_PER_TURN === 0) await nextTurn();
  if (performance.now() > walk.endsAtMs || depth > LIMITS.depth) throw takesTooLong(depth);
  if (stat.isDirectory()) await giveDirectory(path, walk, depth);
  else if (isOthers(stat, walk.owner)) unlessGone(() => lchownSync(path, walk.owner.uid, walk.owner.gid));
}

async function giveDirectory(path: string, walk: Walk, depth: number): Promise<void> {
  const directory = unlessGone(() => openSync(path, DIRECTORY));
  if (directory === undefined) return;
  try {
    for (const name of readdirSync(`/proc/self/fd/${directory}`))
      await giveEntry(`/proc/self/fd/${directory}/${name}`, walk, depth + 1);
    if (isOthers(fstatSync(directory), walk.owner)) fchownSync(directory, walk.owner.uid, walk.owner.gid);
  } finally {
    closeSync(directory);
  }
}

const isOthers = (is: CommandIdentity, { uid, gid }: CommandIdentity): boolean => is.uid !== uid || is.gid !== gid;

function unlessGone<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (gone.has(errnoOf(error) ?? '')) return undefined;
    throw error;
  }
}

const takesTooLong = (depth: number): UnavailableError =>
  new UnavailableError(
    depth > LIMITS.depth
      ? `the thread's directories are nested deeper than ${LIMITS.depth} levels: its files cannot be given to another user`
      : `giving the thread's files to another user took more than ${LIMITS.timeMs / 1000} seconds`,
    { details: { dependency: 'sandbox' } },
  );

import { randomUUID } from 'node:crypto';
import { readdirSync, renameSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { ThreadId, UserId } from '@caribou/contracts';
import { closedDirectoryOf, errnoOf, type FileHead, type ThreadKey } from '@caribou/core';
import { openDirectory } from '../../descriptor-walk.js';
import { emptyDirectory } from '../../empty-directory.js';
import { threadNames } from '../../thread-path.js';
import { isOfOtherFiles } from '../local/copy-index.js';
import { scan } from '../local/scan.js';
import { type CopyParts, hasData, withCopy } from './open-copy.js';

export interface EvictOptions {
  /** The number of copies that may stay. */
  readonly maxCopies: number;
  /** The free space of the disk that is wanted, in bytes. */
  readonly minFreeBytes: number;
  /** The head of a thread; null when there is none, or no such thread. */
  readonly headOf: (thread: ThreadKey) => Promise<FileHead | null>;
  /** Runs the work in the lane of the thread, or leaves it out while the thread is in use. */
  readonly whenIdle: (thread: ThreadKey, work: () => Promise<void>) => Promise<void>;
  readonly signal: AbortSignal;
}

export interface Evicted {
  /** Copies that were removed. */
  readonly removed: number;
  /** Copies that would have been removed, but have changes that are not published, or are in use. */
  readonly held: number;
}

/** Directories that were copies, among those of users; no user has this id. */
const OUT = '.evicted';
/** Copies that are looked at in one call at most. */
const MAX_COPIES = 10_000;

interface Copy {
  readonly thread: ThreadKey;
  readonly usedMs: number;
}

type Outcome = 'removed' | 'held' | 'stays';

export async function removeCopy({ homeDir, owner }: CopyParts, thread: ThreadKey): Promise<void> {
  const out = await openDirectory(homeDir, ['users', OUT], closedDirectoryOf(owner)).catch((error: unknown) => {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (out === undefined) return;
  await out.close();
  try {
    renameSync(join(homeDir, ...threadNames(thread)), join(homeDir, 'users', OUT, randomUUID()));
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
  await emptyOut(homeDir, new AbortController().signal);
}

export async function evictCopies(parts: CopyParts, options: EvictOptions): Promise<Evicted> {
  const { homeDir } = parts;
  const { headOf, whenIdle, signal, maxCopies, minFreeBytes } = options;
  await emptyOut(homeDir, signal);
  const copies = copiesIn(parts);
  let left = copies.length;
  let removed = 0;
  let held = 0;
  for (const { thread } of copies) {
    if (signal.aborted) break;
    const isWanted = left <= maxCopies && freeBytesOf(homeDir) >= minFreeBytes;
    const outcome = await outcomeIn(whenIdle, thread, async () =>
      evictOne(parts, thread, { head: await headOf(thread), isWanted }),
    );
    if (outcome === 'removed') {
      removed += 1;
      left -= 1;
    }
    if (outcome === 'held' && !isWanted) held += 1;
  }
  return { removed, held };
}

/** The outcome of the work; `held` when it was left out. */
async function outcomeIn(
  whenIdle: EvictOptions['whenIdle'],
  thread: ThreadKey,
  work: () => Promise<Outcome>,
): Promise<Outcome> {
  const outcomes: Outcome[] = [];
  await whenIdle(thread, async () => {
    outcomes.push(await work());
  });
  return outcomes[0] ?? 'held';
}

async function evictOne(
  parts: CopyParts,
  thread: ThreadKey,
  { head, isWanted }: { readonly head: FileHead | null; readonly isWanted: boolean },
): Promise<Outcome> {
  const state = parts.indexes.load(thread)?.state;
  const isOutdated = state !== undefined && isOfOtherFiles(state, head);
  if (isWanted && !isOutdated) return 'stays';
  if (!isOutdated && !(await isPublished(parts, thread, head))) return 'held';
  await removeCopy(parts, thread);
  return 'removed';
}

/** Whether the copy has the head's generation, and nothing beyond it. */
async function isPublished(parts: CopyParts, thread: ThreadKey, head: FileHead | null): Promise<boolean> {
  if (head === null || !hasData(parts.homeDir, thread)) return false;
  return withCopy(parts, thread, async (target, record) => {
    const { home, generation } = target.index.state;
    if (record !== 'kept' || home !== head.home || generation !== head.generation) return false;
    const { changed, removed } = await scan(target);
    return changed.size === 0 && removed.size === 0;
  });
}

/** All copies, those that were not used for longest first. */
function copiesIn({ homeDir, indexes }: CopyParts): readonly Copy[] {
  const copies: Copy[] = [];
  for (const userId of namesIn(join(homeDir, 'users'))) {
    if (!UserId.safeParse(userId).success) continue;
    for (const threadId of namesIn(join(homeDir, 'users', userId, 'threads'))) {
      const thread = { userId, threadId };
      const usedMs = ThreadId.safeParse(threadId).success ? indexes.usedMs(thread) : undefined;
      if (usedMs !== undefined) copies.push({ thread, usedMs });
    }
  }
  return copies.sort((left, right) => left.usedMs - right.usedMs).slice(0, MAX_COPIES);
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
  }
}

function freeBytesOf(homeDir: string): number {
  const { bavail, bsize } = statfsSync(homeDir);
  return bavail * bsize;
}

async function emptyOut(homeDir: string, signal: AbortSignal): Promise<void> {
  const out = join(homeDir, 'users', OUT);
  if (namesIn(out).length > 0) await emptyDirectory(out, signal);
}

import { setImmediate as nextTurn } from 'node:timers/promises';
import { ConflictError } from '@caribou/contracts';
import type { FileGenerations } from '@caribou/core';
import type { ObjectTreeStore } from '../store/object-tree-store.js';
import { threadsOf } from '../user-threads.js';

export interface ReferenceParts {
  readonly trees: Pick<ObjectTreeStore, 'references'>;
  readonly generations: Pick<FileGenerations, 'threadsWithFiles' | 'retained'>;
  /** Manifests of a user's trees that are not those of threads, such as installed skills. */
  readonly moreRoots: (userId: string) => Promise<readonly string[]>;
}

/** Objects that the trees of one user may refer to at most. */
const MAX_REFERENCES = 2_000_000;
/** How often the threads of a user are listed anew because others were made meanwhile. */
const MAX_LISTS = 10;

/**
 * The keys of all objects that the user's files need: manifests, their bases and contents.
 *
 * Threads are listed again until no other was found: a thread that was copied from one that was deleted before it was looked
 * at is then among them.
 *
 * @throws {UnavailableError} also when a tree is damaged: nothing may be removed then
 * @throws {ConflictError} when new threads are made all the time, or there are too many objects
 */
export async function findReferences(parts: ReferenceParts, userId: string, signal: AbortSignal): Promise<Set<string>> {
  const { generations, trees, moreRoots } = parts;
  const found = new Set<string>();
  const seenTrees = new Set<string>();
  const addTree = async (key: string): Promise<void> => {
    if (seenTrees.has(key)) return;
    signal.throwIfAborted();
    seenTrees.add(key);
    found.add(key);
    for (const reference of await trees.references(userId, key)) found.add(reference);
    if (found.size > MAX_REFERENCES)
      throw new ConflictError(`the files of a user need more than ${MAX_REFERENCES} objects`, { details: { userId } });
    // A tree may have 200,000 nodes: others have their turn in between.
    await nextTurn();
  };
  const seenThreads = new Set<string>();
  for (let lists = 0; lists < MAX_LISTS; lists += 1) {
    const before = seenThreads.size;
    for await (const threadIds of threadsOf(generations, userId)) {
      for (const threadId of threadIds) {
        if (seenThreads.has(threadId)) continue;
        for (const key of await generations.retained({ userId, threadId })) await addTree(key);
        seenThreads.add(threadId);
      }
    }
    if (seenThreads.size > before) continue;
    for (const key of await moreRoots(userId)) await addTree(key);
    return found;
  }
  throw new ConflictError('new threads were made all the time', { details: { userId } });
}

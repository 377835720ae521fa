import { ConflictError } from '@caribou/contracts';
import type { FileCommit, FileGenerations, FileHead, FileWriter, ThreadKey } from '@caribou/core';
import type { PublishPlan, StoredChanges } from './publication.js';
import type { WorkingCopies } from './working-copies.js';

export interface PublishParts {
  readonly copies: WorkingCopies;
  readonly generations: Pick<FileGenerations, 'commit' | 'noteUnpublished'>;
}

export interface PublishRequest {
  readonly thread: ThreadKey;
  readonly writer: FileWriter;
  /** The head as the caller knows it; another one is found by the commit. */
  readonly head: FileHead | null;
  /** Virtual paths that may have changed; absent for all. */
  readonly paths?: readonly string[];
  /** The files may be older than their record (FileCommit.isImport). */
  readonly isImport?: boolean;
  /** With more changed bytes than this the caller does not wait: the outcome is `deferred`. */
  readonly maxDirectBytes?: number;
  /** Asked right before the commit: whether more has changed since, so that the commit must not say that everything is stored. */
  readonly hasMore?: () => boolean;
}

/**
 * What became of local changes. `isEqual` says whether the copy equals the head afterwards: not when others have changed it meanwhile,
 * whose changes the next refresh brings.
 *
 *  - `unchanged`: there are none beyond the head
 *  - `published`: they are in the head, but for files that changed meanwhile (`isPartial`) and what is never copied (`skipped`)
 *  - `replaced`: the head was set back, or is of other files; local changes were dropped and the copy is equal to it
 */
export type Published =
  | { readonly outcome: 'unchanged'; readonly head: FileHead | null; readonly isEqual: boolean }
  | {
      readonly outcome: 'published';
      readonly head: FileHead;
      readonly isEqual: boolean;
      readonly changed: number;
      readonly bytes: number;
      readonly isPartial: boolean;
      readonly skipped: PublishPlan['skipped'];
    }
  | { readonly outcome: 'replaced'; readonly head: FileHead | null; readonly isEqual: true };

/** Too much to wait for: that there are changes is recorded, and `finish` publishes them. */
export interface Deferred {
  readonly outcome: 'deferred';
  readonly bytes: number;
  /** Stores and commits, in the background: an operation of the thread, as the others of WorkingCopies. Errors as publishFiles. */
  readonly finish: () => Promise<Published>;
}

const MAX_DIRECT_BYTES = 8 * 1024 * 1024;
const MAX_ATTEMPTS = 8;

/**
 * Publishes the local changes of a thread: stores them and commits the next generation. When others commit meanwhile, their changes
 * are taken over, and contents that are stored are not stored again.
 *
 * @throws {FencedError} when the sandbox of the thread is bound to another manager
 * @throws {ConflictError} while the thread is being deleted, or when others commit all the time
 * @throws {UnavailableError} @throws {TooLargeError} local changes stay and are published by a later call
 */
export async function publishFiles(parts: PublishParts, request: PublishRequest): Promise<Published | Deferred> {
  const { thread, head, maxDirectBytes = MAX_DIRECT_BYTES } = request;
  const plan = await planFor(parts, request, { head });
  if (plan === null || plan.bytes <= maxDirectBytes) return publishPlan(parts, request, { head, plan });
  await parts.generations.noteUnpublished(thread, request.writer);
  return {
    outcome: 'deferred',
    bytes: plan.bytes,
    finish: () => publishPlan(parts, request, { head, plan }),
  };
}

interface Attempt {
  readonly head: FileHead | null;
  readonly plan: PublishPlan | null;
}

const planFor = (
  { copies }: PublishParts,
  { thread, paths }: PublishRequest,
  { head, earlier }: { readonly head: FileHead | null; readonly earlier?: PublishPlan },
): Promise<PublishPlan | null> =>
  copies.publish(thread, {
    head,
    ...(paths === undefined ? {} : { paths }),
    ...(earlier === undefined ? {} : { earlier }),
  });

async function publishPlan(parts: PublishParts, request: PublishRequest, first: Attempt): Promise<Published> {
  const { copies, generations } = parts;
  let { head, plan } = first;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const isEqual = attempt === 1;
    const stored = plan === null ? null : await plan.store();
    if (plan === null || stored === null) return { outcome: 'unchanged', head, isEqual };
    const reply = await generations.commit(request.thread, commitOf(head, stored, request));
    if (reply.committed && reply.head !== null) {
      stored.record(reply.head);
      const { changed, isPartial } = stored;
      const { bytes, skipped } = plan;
      return { outcome: 'published', head: reply.head, isEqual, changed, bytes, isPartial, skipped };
    }
    const former: FileHead | null = head;
    head = reply.head;
    if (isAnother(former, head)) {
      await copies.refresh(request.thread, head);
      return { outcome: 'replaced', head, isEqual: true };
    }
    plan = await planFor(parts, request, { head, earlier: plan });
  }
  throw new ConflictError(
    `the files of the thread were changed by others ${MAX_ATTEMPTS} times while they were stored`,
  );
}

/** Whether changes made on the former head are dropped on the present one. */
function isAnother(former: FileHead | null, head: FileHead | null): boolean {
  if (former === null) return false;
  if (head === null || head.home !== former.home) return true;
  return Math.max(head.resetAt, head.takenAt) > former.generation;
}

const commitOf = (
  head: FileHead | null,
  { trees, bytes, files, isPartial }: StoredChanges,
  { writer, isImport, hasMore }: PublishRequest,
): FileCommit => ({
  expected: head === null ? null : { home: head.home, generation: head.generation },
  trees,
  bytes,
  files,
  writer,
  ...(isPartial || hasMore?.() === true ? { isPartial: true } : {}),
  ...(head === null && isImport === true ? { isImport } : {}),
});

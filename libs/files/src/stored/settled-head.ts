import type { FileGenerations, FileHead, ThreadKey, UnpublishedFiles } from '@caribou/core';

export interface SettledParts {
  readonly generations: Pick<FileGenerations, 'head'>;
  /** Asks the manager that has changes of a thread which are not stored yet, or others of its machine, to store them; never rejects. */
  readonly askToPublish: (thread: ThreadKey, holder: Pick<UnpublishedFiles, 'managerId' | 'machine'>) => Promise<void>;
}

/**
 * The newest files of a thread, after its manager has stored what it had not yet. When neither that manager nor another one of its
 * machine answers in time, they are as they were last stored.
 */
export async function settledHead(
  { generations, askToPublish }: SettledParts,
  thread: ThreadKey,
): Promise<FileHead | null> {
  const head = await generations.head(thread);
  if (head?.unpublished === undefined) return head;
  await askToPublish(thread, head.unpublished);
  return generations.head(thread);
}

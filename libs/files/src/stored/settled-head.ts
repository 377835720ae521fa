import type { FileGenerations, FileHead, ThreadKey } from '@caribou/core';

export interface SettledParts {
  readonly generations: Pick<FileGenerations, 'head'>;
  /** Asks the manager that has changes of a thread which are not stored yet to store them; never rejects. */
  readonly askToPublish: (thread: ThreadKey, managerId: string) => Promise<void>;
}

/**
 * The newest files of a thread, after its manager has stored what it had not yet. When that manager does not answer in time, they
 * are as they were last stored.
 */
export async function settledHead(
  { generations, askToPublish }: SettledParts,
  thread: ThreadKey,
): Promise<FileHead | null> {
  const head = await generations.head(thread);
  if (head?.unpublished === undefined) return head;
  await askToPublish(thread, head.unpublished.managerId);
  return generations.head(thread);
}

import type { FileGenerations } from '@caribou/core';

/** Threads at the end of a list that the next one begins with: as many may be deleted meanwhile without another being left out. */
const OVERLAP = 100;

/** The ids of all threads of a user with files, in lists of at most a thousand; some are in two lists. */
export async function* threadsOf(
  generations: Pick<FileGenerations, 'threadsWithFiles'>,
  userId: string,
): AsyncGenerator<readonly string[], void, undefined> {
  for (let skip = 0; ; ) {
    const threadIds = await generations.threadsWithFiles(userId, skip);
    yield threadIds;
    if (threadIds.length <= OVERLAP) return;
    skip += threadIds.length - OVERLAP;
  }
}

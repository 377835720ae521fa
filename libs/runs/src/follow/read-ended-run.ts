import { isTerminal, NotFoundError, type RunRecord, type RunSummary } from '@caribou/contracts';
import type { ThreadStore } from '@caribou/state';

/** Without `runStatus`, the record is read each time. */
export type EndedRunStore = Pick<ThreadStore, 'getRun'> & Partial<Pick<ThreadStore, 'runStatus'>>;

/**
 * Reads the record of a run that has ended; null when there is none. Of a run in flight, for which many may wait, only the
 * status is read.
 */
export async function readEndedRun(
  store: EndedRunStore,
  { user_id: userId, thread_id: threadId, run_id: runId }: RunSummary,
): Promise<RunRecord | null | 'in flight'> {
  const thread = { userId, threadId };
  const status = await store.runStatus?.(thread, runId);
  if (status !== undefined && status !== null && !isTerminal(status)) return 'in flight';
  try {
    const run = await store.getRun(thread, runId);
    return isTerminal(run.status) ? run : 'in flight';
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}

import { UnavailableError } from '@caribou/contracts';
import type { AdmitRequest, AdmitResult, ThreadStore } from '@caribou/state';
import type { StoreDeadline } from './store-deadline.js';

/**
 * Stores a run. When the reply is lost, the run's record is read. When that fails too, the error names the run, because
 * a stalled Redis may store it later.
 */
export async function storeRun(
  store: Pick<ThreadStore, 'admit' | 'getRun'>,
  request: AdmitRequest,
  deadline: StoreDeadline,
): Promise<AdmitResult> {
  try {
    return await deadline.within(() => store.admit(request));
  } catch (error) {
    if (!(error instanceof UnavailableError) || error.details['noEffect'] === true) throw error;
    try {
      // Its messages may be with another run; they are recognized by their ids.
      if (request.multitaskStrategy === 'steer') return await deadline.within(() => store.admit(request));
      const run = await deadline.within(() => store.getRun(request, request.runId));
      return {
        run,
        repeated: false,
        cancelled: [],
        ended: [],
        isUnderWay: false,
        isFollowed: true,
        headId: null,
        stateBytes: 0,
        runs: null,
      };
    } catch {
      throw mayBeStored(request, error);
    }
  }
}

const mayBeStored = ({ runId, threadId }: AdmitRequest, cause: UnavailableError): UnavailableError =>
  new UnavailableError(`the store did not answer; run ${runId} on thread ${threadId} may have been stored`, {
    cause,
    details: { ...cause.details, shown: { run_id: runId, thread_id: threadId } },
  });

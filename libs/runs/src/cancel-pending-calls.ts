import { AppError, type ThreadState } from '@caribou/contracts';
import { type Logger, pendingCalls, type SandboxPort } from '@caribou/core';
import { type RunLease } from '@caribou/state';

/** Maximum time to wait for managers, in milliseconds; a cancelled run must end soon. */
const WAIT_MS = 4_000;

/**
 * Cancels executions in the sandbox of tool calls that have no result yet. The process that started them may be dead,
 * and a manager accepts no cancel once the run has ended. A call that cannot be reached in time ends by its own time
 * limit.
 */
export async function cancelPendingCalls(run: {
  readonly state: ThreadState;
  readonly lease: RunLease;
  readonly sandbox: Pick<SandboxPort, 'cancel'>;
  readonly logger: Logger;
}): Promise<void> {
  const { state, lease, sandbox, logger } = run;
  const signal = AbortSignal.timeout(WAIT_MS);
  await Promise.all(
    pendingCalls(state).valid.map(async ({ id }) => {
      try {
        await sandbox.cancel(lease, `${lease.runId}:${id}`, signal);
      } catch (error) {
        if (!signal.aborted && !(error instanceof AppError)) throw error;
        logger.warn({ event: 'call.cancel', toolCallId: id, error }, 'a tool call of an ended run was not cancelled');
      }
    }),
  );
}

import { AppError, type ThreadState, type ToolCall } from '@caribou/contracts';
import type { Logger, RunLease, SandboxPort } from '@caribou/core';

/** How long managers are waited for; a run that is cancelled must have ended soon. */
const WAIT_MS = 4_000;

/** The tool calls of the last answer that have no result yet. */
export function openCalls({ messages }: ThreadState): readonly ToolCall[] {
  const at = messages.findLastIndex((message) => message.type === 'ai');
  const asking = messages[at];
  if (asking?.type !== 'ai') return [];
  const answered = new Set(
    messages.slice(at + 1).flatMap((message) => (message.type === 'tool' ? [message.tool_call_id] : [])),
  );
  return asking.tool_calls.filter(({ id }) => !answered.has(id));
}

/**
 * Ends what the open calls of a run still execute in its sandbox, whichever process had asked for it: that process may
 * be gone, and a manager takes no cancel once the run has ended. What cannot be reached in time ends by its time limit.
 */
export async function endOpenCalls(run: {
  readonly state: ThreadState;
  readonly lease: RunLease;
  readonly sandbox: Pick<SandboxPort, 'cancel'>;
  readonly logger: Logger;
}): Promise<void> {
  const { state, lease, sandbox, logger } = run;
  const signal = AbortSignal.timeout(WAIT_MS);
  await Promise.all(
    openCalls(state).map(async ({ id }) => {
      try {
        await sandbox.cancel(lease, `${lease.runId}:${id}`, signal);
      } catch (error) {
        if (!signal.aborted && !(error instanceof AppError)) throw error;
        logger.warn({ event: 'call.cancel', toolCallId: id, error }, 'a tool call of an ended run was not cancelled');
      }
    }),
  );
}

import { BugError, ConflictError, NotFoundError, type RunSummary } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import { callThread, type Reply } from '../redis/thread-call.js';
import { summaryOf } from '../runs/run-codec.js';

const script = loadScript('pause/pause');

/** Asks a run to stop at its next step. @throws {NotFoundError} {ConflictError} */
export async function requestPause(
  redis: RedisConnection,
  thread: ThreadKey,
  runId: string,
  by?: string,
): Promise<RunSummary> {
  const reply = await callThread(redis, thread, script, { params: { run: runId, paused_by: by } });
  if (reply[0] !== 'ok') throw pauseRefusal(reply, runId);
  return summaryOf(reply[1]);
}

/** The error for a run that cannot be paused. */
function pauseRefusal([outcome, status]: Reply, runId: string): Error {
  const details = { runId };
  switch (outcome) {
    case 'no_run':
      return new NotFoundError(`Run ${runId} does not exist`, { details });
    case 'ended':
      return new ConflictError(`the run cannot be paused: it has ended (${String(status)})`, { details });
    case 'stopping':
      return new ConflictError('the run cannot be paused: it was asked to stop', { details });
    case 'paused':
      return new ConflictError('the run was asked to pause before; it stops at its next step', { details });
    default:
      return new BugError(`unknown reply of pause: ${String(outcome)}`);
  }
}

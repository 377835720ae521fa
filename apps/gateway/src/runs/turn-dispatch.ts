import type { Handoffs, Wakes } from '@caribou/bus';
import { type RunRecord, UnavailableError } from '@caribou/contracts';
import type { Logger, OfferedRun, ThreadKey } from '@caribou/core';
import type { Metrics } from '@caribou/observability';
import type { AdmitResult, TurnQueue } from '@caribou/state';

export interface DispatchPorts {
  readonly handoffs: Pick<Handoffs, 'offerTurn'>;
  readonly queue: Pick<TurnQueue, 'enqueue'>;
  readonly wakes: Pick<Wakes, 'publish'>;
  readonly metrics: Pick<Metrics, 'turnOffered'>;
  readonly logger: Logger;
}

/**
 * Hands a thread with a new run to a runner: directly when one has a free slot, else through the queue, with a wake. Never
 * rejects: the thread is in the pending set, and what fails here is repeated by a sweep.
 *
 * @param run the new run, where its runner may begin it with the claim
 */
export async function dispatchTurn(ports: DispatchPorts, thread: ThreadKey, run?: OfferedRun): Promise<void> {
  const { handoffs, queue, wakes, metrics } = ports;
  await orWarn(ports, thread, async () => {
    const outcome = await handoffs.offerTurn({ thread, run });
    metrics.turnOffered(outcome);
    if (outcome === 'taken') return;
    // Before the wake, so that the runner that gets it finds the thread in the order of its user.
    await orWarn(ports, thread, () => queue.enqueue(thread));
    await wakes.publish(thread);
  });
}

/**
 * What a runner needs to begin the run with its claim; undefined for one that begins with anything but its input.
 *
 * @param admitted with the checkpoint that the run will find
 */
export function offeredRun(
  { run_id, kwargs, fork_checkpoint_id }: RunRecord,
  { headId }: Pick<AdmitResult, 'headId'>,
): OfferedRun | undefined {
  if (kwargs.input === null || kwargs.command !== undefined || fork_checkpoint_id !== null) return undefined;
  return { runId: run_id, kwargs, headId };
}

async function orWarn({ logger }: DispatchPorts, { threadId }: ThreadKey, step: () => Promise<unknown>): Promise<void> {
  try {
    await step();
  } catch (error) {
    const fields = { event: 'turn.dispatch', outcome: 'error', threadId, error };
    if (error instanceof UnavailableError) logger.warn(fields, 'the runners were not notified; a sweep does it');
    else logger.error(fields, 'the runners could not be notified');
  }
}

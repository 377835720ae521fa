import type { Handoffs, Wakes } from '@caribou/bus';
import { UnavailableError } from '@caribou/contracts';
import type { Logger, ThreadKey } from '@caribou/core';
import type { Metrics } from '@caribou/observability';
import type { TurnQueue } from '@caribou/state';

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
 */
export async function dispatchTurn(ports: DispatchPorts, thread: ThreadKey): Promise<void> {
  const { handoffs, queue, wakes, metrics } = ports;
  await orWarn(ports, thread, async () => {
    const outcome = await handoffs.offerTurn(thread);
    metrics.turnOffered(outcome);
    if (outcome === 'taken') return;
    // Before the wake, so that the runner that gets it finds the thread in the order of its user.
    await orWarn(ports, thread, () => queue.enqueue(thread));
    await wakes.publish(thread);
  });
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

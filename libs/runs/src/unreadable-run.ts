import type { Logger } from '@caribou/core';
import type { ClaimResult, FinishResult, RunStore } from '@caribou/state';
import type { EventPublisher } from './events/event-writer.js';

export type UnreadableRun = Extract<ClaimResult, { kind: 'unreadable' }>;

export interface UnreadablePorts {
  readonly store: Pick<RunStore, 'finish'>;
  readonly publisher: EventPublisher;
  readonly metrics: { runEnded(outcome: string): void };
  readonly logger: Logger;
}

/**
 * Ends a run whose stored record this version cannot read, so that later runs of its thread can start. The dead letter
 * contains the record.
 *
 * @returns what waits for the slot
 * @throws {FencedError} when another owner has the thread; UnavailableError when Redis is unavailable
 */
export async function endUnreadable(
  { lease, reason, record }: UnreadableRun,
  ports: UnreadablePorts,
): Promise<Pick<FinishResult, 'more' | 'queueIsEmpty'>> {
  const { store, publisher, metrics, logger } = ports;
  const error = { name: 'UnreadableRun', message: 'what is stored of this run could not be read' };
  const entry = { user_id: lease.userId, thread_id: lease.threadId, run_id: lease.runId, error, record };
  logger.error({ event: 'run.unreadable', outcome: 'error', runId: lease.runId, error: reason }, error.message);
  const events = [{ kind: 'error', ...error } as const];
  const deadLetter = { id: lease.runId, entry };
  const { appended, more, queueIsEmpty } = await store.finish(lease, {
    status: 'error',
    error,
    events,
    unreadable: true,
    deadLetter,
  });
  publisher.publishEvents(lease.runId, appended, appended.at(-1)?.seq ?? 0);
  metrics.runEnded('unreadable');
  return { more, queueIsEmpty };
}

import type { Wakes } from '@caribou/bus';
import type { Clock, Logger, ThreadKey } from '@caribou/core';

export interface MemoryNotifierOptions {
  readonly wakes: Pick<Wakes, 'publish'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** At most one nudge in this time; no longer than the debounce time of memory. */
  readonly everyMs: number;
}

/**
 * Tells idle memory-workers that something was said, without waiting and without failing.
 *
 * What is due stands in Redis, and while anything is due the workers look by themselves. A thread becomes ready no sooner
 * than the debounce time after its nudge, so further nudges within it would tell nobody anything new: under load they cost a fifth
 * of a turn.
 */
export function createMemoryNotifier({
  wakes,
  clock,
  logger,
  everyMs,
}: MemoryNotifierOptions): (thread: ThreadKey) => void {
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  return (thread) => {
    if (clock.monotonicMs() < quietUntilMs) return;
    quietUntilMs = clock.monotonicMs() + everyMs;
    wakes.publish(thread).catch((error: unknown) => {
      quietUntilMs = Number.NEGATIVE_INFINITY;
      logger.debug({ event: 'memory.nudge', outcome: 'error', error }, 'memory not nudged; it looks by itself');
    });
  };
}

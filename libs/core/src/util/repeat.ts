import type { Clock } from './clock.js';

export interface Repetition {
  readonly clock: Pick<Clock, 'sleep'>;
  /** Pause between two runs of the work, in milliseconds. */
  readonly everyMs: number;
  readonly signal: AbortSignal;
}

/** Does the work again and again, with pauses, until the signal aborts. @throws what the work throws */
export async function repeatUntilAborted(
  { clock, everyMs, signal }: Repetition,
  work: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await work();
    await clock.sleep(everyMs, signal).catch((reason: unknown) => {
      if (!signal.aborted) throw reason;
    });
  }
}

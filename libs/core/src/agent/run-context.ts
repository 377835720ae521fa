import type { RunContextValues, RunEvent } from '@caribou/contracts';
import type { Clock } from '../util/clock.js';
import type { Logger } from '../util/logger.js';
import type { Instrumented } from './instrumentation.js';

/** The information about a run that its hooks and tools receive. */
export interface RunContext extends Instrumented {
  readonly userId: string;
  readonly threadId: string;
  readonly runId: string;
  readonly assistantId: string;
  /** Id of the API key that pays for the run. */
  readonly apiKey?: string;
  /** Increases with each takeover. */
  readonly attempt: number;
  /** Epoch of the thread's lease: sent with every request to an executor. */
  readonly epoch: number;
  /** The run's switches (model, thinking, plan mode, …). */
  readonly context: RunContextValues;
  /** The only cancellation: aborted by cancel, a lost lease or drain. Every awaited port call takes it. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Publishes an event to the run's watchers. Resolves when it is queued (back-pressure when the queue is full),
   * without waiting for the log. Rejects with FencedError when the run was lost.
   */
  emit(event: RunEvent): Promise<void>;
  /** Queues the run for memory extraction; has an effect when the run finishes, and is written with its end. */
  queueForMemory(): void;
}

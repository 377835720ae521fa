import type { RunContextValues, RunEvent } from '@caribou/contracts';
import type { Clock } from '../util/clock.js';
import type { Logger } from '../util/logger.js';
import type { Instrumented } from './instrumentation.js';
import type { StepTracer } from '../traces/step-trace.js';
import type { InterruptAnswer, InterruptRequest } from '../ports/interrupt-request.js';

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
  /** Records calls for the run's trace; absent when none is stored. */
  readonly tracer?: StepTracer;
  /**
   * Publishes an event to the run's watchers. Resolves when it is queued (back-pressure when the queue is full),
   * without waiting for the log. Rejects with FencedError when the run was lost.
   */
  emit(event: RunEvent): Promise<void>;
  /**
   * Asks a person and stops the run until somebody has answered: the run ends as `interrupted` and holds nothing. The run that
   * continues calls the hook or the tool again from its beginning, and this returns the answer; so what is done before the
   * call must be repeatable.
   *
   * @throws {Interrupted} while there is no answer: let it through
   * @throws {InvalidRequestError} when value and schema exceed MAX_INTERRUPT_BYTES
   */
  interrupt(request: InterruptRequest): Promise<InterruptAnswer>;
  /**
   * Asks several questions at once and returns the answers so far by their keys; questions without an answer stay open when
   * they are asked again.
   *
   * @throws {Interrupted} while none has an answer
   */
  interruptAll(requests: readonly InterruptRequest[]): Promise<ReadonlyMap<string, InterruptAnswer>>;
  /** An id for the next message of the model. The first one after a commit is that which the log knows, if it knows one. */
  takeMessageId(): string;
  /** Queues the run for memory extraction; has an effect when the run finishes, and is written with its end. */
  queueForMemory(): void;
}

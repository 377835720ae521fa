import type { NumberedEvent, RunEvent } from '@caribou/contracts';
import type { RunLease, RunStore } from '@caribou/state';
import { coalesce } from './coalesce.js';

/** Receives events after they are appended. A lost publication only delays watchers, so it never throws. */
export interface EventPublisher {
  publishEvents(runId: string, events: readonly NumberedEvent[]): void;
}

interface Appended {
  readonly appended: readonly NumberedEvent[];
}

export interface WriterOptions {
  /** Called with the append that failed finally. */
  readonly onFailure: (error: unknown) => void;
  /** Number of the newest event in the run's log. */
  readonly lastSeq: number;
  readonly retry: WriteRetry;
}

/** Performs a write, and retries it where that may help. */
export type WriteRetry = <Result>(write: () => Promise<Result>) => Promise<Result>;

/** Maximum number of events in the queue before `emit` makes its caller wait. */
const MAX_QUEUED = 256;

/**
 * Appends a run's events to its log. Stages of an event: queued → in flight → appended → published.
 *
 * W1 Events are appended in the order of `emit`, one append at a time; events that queue up meanwhile are coalesced.
 * W2 An idle writer appends at the end of the event loop's turn, so that the events of one piece of a model's answer
 *    are one append; a busy one makes callers wait above the maximum.
 * W3 Only appended events are published, with the log's numbers.
 * W3b A write whose outcome is unknown is repeated with the number that it follows, so that it takes effect once.
 * W4 After a failed append the writer is closed: `emit` and `commit` reject with that failure.
 * W4b A run can still be ended after a failed append: `end` discards the queue and writes the ending alone.
 * W5 A commit includes the queue in its own script; until it is done nothing else is appended.
 */
export class EventWriter {
  private queue: RunEvent[] = [];
  private inFlight: Promise<void> | undefined;
  private due: NodeJS.Immediate | undefined;
  private held = false;
  private lastSeq: number;
  private failure: { readonly cause: unknown } | undefined;
  private openMessageId: string | null = null;
  private toldOpenMessageId: string | null = null;
  private roomWaiters: (() => void)[] = [];

  constructor(
    private readonly store: Pick<RunStore, 'append'>,
    private readonly lease: RunLease,
    private readonly publisher: EventPublisher,
    private readonly options: WriterOptions,
  ) {
    this.lastSeq = options.lastSeq;
  }

  /** Queues an event; resolves once the queue has space (W2). @throws the failure of an earlier append (W4) */
  async emit(event: RunEvent): Promise<void> {
    this.assertOpen();
    this.queue.push(event);
    this.pumpSoon();
    while (this.failure === undefined && this.queue.length >= MAX_QUEUED) {
      await new Promise<void>((resolve) => this.roomWaiters.push(resolve));
    }
    this.assertOpen();
  }

  /**
   * Runs a commit that writes the queued events before its own (W5) and publishes what it appended. The commit's
   * script closes the open message.
   */
  commit<Result extends Appended>(
    write: (queued: readonly RunEvent[], after: number) => Promise<Result>,
  ): Promise<Result> {
    return this.alone(async () => {
      this.assertOpen();
      const queued = coalesce(this.queue);
      this.queue = [];
      return this.options.retry(() => write(queued, this.lastSeq));
    });
  }

  /** Resolves when all earlier events are appended, so that the log is complete, or when an append has failed. */
  async waitForAppends(): Promise<void> {
    while (this.failure === undefined && (this.held || this.inFlight !== undefined || this.queue.length > 0)) {
      this.pump();
      await new Promise<void>((resolve) => this.roomWaiters.push(resolve));
    }
  }

  /** Like `commit`, for the script that ends the run; also works after a failed append, without the queue (W4b). */
  end<Result extends Appended>(write: (queued: readonly RunEvent[]) => Promise<Result>): Promise<Result> {
    return this.alone(async () => {
      const queued = this.failure === undefined ? coalesce(this.queue) : [];
      this.queue = [];
      return this.options.retry(() => write(queued));
    });
  }

  private async alone<Result extends Appended>(write: () => Promise<Result>): Promise<Result> {
    this.held = true;
    try {
      await this.inFlight;
      const result = await write();
      this.openMessageId = null;
      this.toldOpenMessageId = null;
      this.publish(result.appended);
      return result;
    } finally {
      this.held = false;
      this.wakeWaiters();
      this.pump();
    }
  }

  private publish(appended: readonly NumberedEvent[]): void {
    this.lastSeq = appended.at(-1)?.seq ?? this.lastSeq;
    if (appended.length > 0) this.publisher.publishEvents(this.lease.runId, appended);
  }

  private pumpSoon(): void {
    this.due ??= setImmediate(() => {
      this.due = undefined;
      this.pump();
    });
  }

  private pump(): void {
    if (this.held || this.inFlight !== undefined || this.queue.length === 0 || this.failure !== undefined) return;
    const batch = coalesce(this.queue);
    this.queue = [];
    this.inFlight = this.append(batch)
      .catch((error: unknown) => this.fail(error))
      .finally(() => {
        this.inFlight = undefined;
        this.wakeWaiters();
        this.pump();
      });
  }

  private async append(batch: readonly RunEvent[]): Promise<void> {
    const dropped: string[] = [];
    for (const event of batch) {
      if (event.kind === 'message.delta') this.openMessageId = event.message_id;
      if (event.kind === 'run.start' && event.dropped_message_ids.length > 0) {
        dropped.push(...event.dropped_message_ids);
        this.openMessageId = null;
      }
    }
    const changed = this.openMessageId !== this.toldOpenMessageId;
    const options = {
      ...(changed ? { openMessageId: this.openMessageId } : {}),
      ...(dropped.length > 0 ? { dropped } : {}),
      after: this.lastSeq,
    };
    this.toldOpenMessageId = this.openMessageId;
    this.publish(await this.options.retry(() => this.store.append(this.lease, batch, options)));
  }

  private fail(error: unknown): void {
    this.failure ??= { cause: error };
    this.queue = [];
    this.options.onFailure(error);
  }

  private assertOpen(): void {
    if (this.failure !== undefined) throw this.failure.cause;
  }

  private wakeWaiters(): void {
    const waiters = this.roomWaiters;
    this.roomWaiters = [];
    for (const wake of waiters) wake();
  }
}

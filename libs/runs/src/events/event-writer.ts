import type { NumberedEvent, RunEvent } from '@caribou/contracts';
import type { Clock } from '@caribou/core';
import type { RunLease, RunStore, ShownEvents } from '@caribou/state';
import { coalesce } from './coalesce.js';
import { FlushWindow } from './flush-window.js';
import { OpenMessage } from './open-message.js';

/** Receives the events of runs. A lost publication only delays watchers, so it never throws. */
export interface EventPublisher {
  /** @param logged number of the newest event in the log; events above it will be appended later */
  publishEvents(runId: string, events: readonly NumberedEvent[], logged: number): void;
}

interface Appended {
  readonly appended: readonly NumberedEvent[];
  /** Bytes of state that were written with the events. */
  readonly stateBytes?: number;
  /** Bytes of the run's whole event log, with its end. */
  readonly logBytes?: number | null;
  /** Id of the message that the log now knows to be open. */
  readonly opens?: string;
}

/** What a run has written to the store. */
export interface WrittenBytes {
  /** Checkpoints, messages and values that this process has committed. */
  readonly state: number;
  /** The whole event log; undefined before its end. */
  readonly log: number | undefined;
}

export interface WriterOptions {
  /** Called with the append that failed finally. */
  readonly onFailure: (error: unknown) => void;
  /** Number of the newest event in the run's log. */
  readonly lastSeq: number;
  readonly retry: WriteRetry;
  /** Milliseconds between two appends of streamed text; 0: each append follows the one before. */
  readonly windowMs: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Whether no other process can have taken the run over; while it is false, nothing is published before its append. */
  readonly isOwner?: () => boolean;
}

/** Performs a write, and retries it where that may help. */
export type WriteRetry = <Result>(write: () => Promise<Result>) => Promise<Result>;

/** Maximum number of events in the queue before `emit` makes its caller wait. */
const MAX_QUEUED = 256;
/** Number of events in the queue that are appended without waiting for the window. */
const FULL_QUEUE = 128;
/** Events are published at most this far ahead of the log; below MAX_AHEAD of the store (events.lua). */
const MAX_SHOWN_AHEAD = 500;

/**
 * Appends a run's events to its log. Stages of an event: arrived → queued → in flight → appended; it is published once,
 * after the append or, for streamed text, before.
 *
 * W1 Events are appended in the order of `emit`, one append at a time; those of one turn of the event loop are coalesced.
 * W2 A message is open in the log from the commit before it, which names its id, or else from its start or first piece, which are
 *    appended at once, as everything that is not streamed. The rest is published at once and appended once per window. A full queue
 *    makes callers wait.
 * W3 An event is published under the number that it gets in the log. What is published before the append belongs to a
 *    message of which the log knows (its start, its pieces, the start of its task): after a crash, the next attempt drops that message
 *    and starts another task, and the store never gives these numbers to other events.
 * W3b A write whose outcome is unknown is repeated with the number that it follows, so that it takes effect once.
 * W4 After a failed append the writer is closed: `emit` and `commit` reject with that failure.
 * W4b A run can still be ended after a failed append: `end` discards the queue and writes the ending alone.
 * W5 A commit includes the queue in its own script; until it is done nothing else is appended. Text that may be published before
 *    (W3) does not wait for it.
 */
export class EventWriter {
  private arrived: RunEvent[] = [];
  private queue: RunEvent[] = [];
  private inFlight: Promise<void> | undefined;
  private eventsInFlight = 0;
  private due: NodeJS.Immediate | undefined;
  private flushTimer: NodeJS.Timeout | undefined;
  private held = false;
  private lastSeq: number;
  private shownSeq: number;
  private failure: { readonly cause: unknown } | undefined;
  /** A write with events that were published has failed: nothing but the run's end is written from now on. */
  private isIncomplete = false;
  private writtenBytes: WrittenBytes = { state: 0, log: undefined };
  private readonly message = new OpenMessage();
  private roomWaiters: (() => void)[] = [];
  private readonly window: FlushWindow;

  constructor(
    private readonly store: Pick<RunStore, 'append'>,
    private readonly lease: RunLease,
    private readonly publisher: EventPublisher,
    private readonly options: WriterOptions,
  ) {
    this.lastSeq = options.lastSeq;
    this.shownSeq = options.lastSeq;
    this.window = new FlushWindow(options.windowMs, options.clock);
  }

  /** Queues an event; resolves once the queue has space (W2). @throws the failure of an earlier append (W4) */
  async emit(event: RunEvent): Promise<void> {
    this.assertOpen();
    this.arrived.push(event);
    this.due ??= setImmediate(() => this.handleArrived());
    while (this.canWrite && this.queue.length + this.arrived.length >= MAX_QUEUED) {
      await new Promise<void>((resolve) => this.roomWaiters.push(resolve));
    }
    this.assertOpen();
  }

  /**
   * Runs a commit that writes the queued events before its own (W5) and publishes what it appended. The commit's
   * script closes the open message.
   */
  commit<Result extends Appended>(
    write: (queued: readonly RunEvent[], after: number, shown: ShownEvents) => Promise<Result>,
  ): Promise<Result> {
    return this.alone(async () => {
      this.assertOpen();
      const queued = this.takeQueue();
      this.showStreamedText(queued);
      const shown = { last: this.shownSeq, incomplete: false };
      return this.options.retry(() => write(queued, this.lastSeq, shown));
    });
  }

  /** An id for the next message of the model; the first one after a commit is that which the commit opened, if it did. */
  takeMessageId(): string {
    return this.message.takeId();
  }

  /** Resolves when all earlier events are appended, so that the log is complete, or when an append has failed. */
  async waitForAppends(): Promise<void> {
    while (this.canWrite && (this.held || this.inFlight !== undefined || this.queue.length + this.arrived.length > 0)) {
      this.queue = this.takeQueue();
      this.pump('now');
      await new Promise<void>((resolve) => this.roomWaiters.push(resolve));
    }
  }

  /** Like `commit`, for the script that ends the run; also works after a failed append, without the queue (W4b). */
  end<Result extends Appended>(
    write: (queued: readonly RunEvent[], shown: ShownEvents) => Promise<Result>,
  ): Promise<Result> {
    return this.alone(async () => {
      const incomplete = !this.canWrite;
      const queued = incomplete ? [] : this.takeQueue();
      return this.options.retry(() => write(queued, { last: this.shownSeq, incomplete }));
    });
  }

  get written(): WrittenBytes {
    return this.writtenBytes;
  }

  /** Stops a writer whose run ended here; what is queued is discarded. */
  close(): void {
    clearImmediate(this.due);
    clearTimeout(this.flushTimer);
    this.arrived = [];
    this.queue = [];
  }

  private get canWrite(): boolean {
    return this.failure === undefined && !this.isIncomplete;
  }

  private async alone<Result extends Appended>(write: () => Promise<Result>): Promise<Result> {
    this.held = true;
    try {
      await this.inFlight;
      const result = await write();
      this.openNext(result.opens);
      this.countBytes(result);
      this.publishAppended(result.appended);
      return result;
    } catch (error) {
      this.isIncomplete ||= this.shownSeq > this.lastSeq;
      throw error;
    } finally {
      this.held = false;
      this.wakeWaiters();
      this.pump();
    }
  }

  /** A commit closes the open message, and counts as an append of the one that follows. */
  private openNext(messageId: string | undefined): void {
    this.message.noteCommit(messageId);
    if (messageId !== undefined) this.window.begin();
  }

  private countBytes({ stateBytes = 0, logBytes }: Appended): void {
    this.writtenBytes = { state: this.writtenBytes.state + stateBytes, log: logBytes ?? undefined };
  }

  private takeQueue(): RunEvent[] {
    const taken = [...this.queue, ...coalesce(this.arrived)];
    this.queue = [];
    this.arrived = [];
    return taken;
  }

  private handleArrived(): void {
    this.due = undefined;
    this.queue = this.takeQueue();
    if (!this.held) this.showStreamedText(this.queue);
    this.pump();
  }

  /** Publishes queued events of the message that the log knows to be open, up to the first other event (W3). */
  private showStreamedText(queue: readonly RunEvent[]): void {
    const from = this.shownSeq - this.lastSeq - this.eventsInFlight;
    if (this.window.isOpenAlways || !this.canWrite || from < 0) return;
    if (this.options.isOwner?.() === false) return;
    const shown: NumberedEvent[] = [];
    for (const event of queue.slice(from)) {
      const seq = this.shownSeq + shown.length + 1;
      if (!this.message.has(event) || seq > this.lastSeq + MAX_SHOWN_AHEAD) break;
      shown.push({ seq, event });
    }
    if (shown.length === 0) return;
    this.shownSeq += shown.length;
    this.publisher.publishEvents(this.lease.runId, shown, this.lastSeq);
  }

  /** Publishes what was appended, without what was published before. */
  private publishAppended(appended: readonly NumberedEvent[]): void {
    const last = appended.at(-1);
    if (last === undefined) return;
    const fresh = appended.filter(({ seq }) => seq > this.shownSeq);
    this.lastSeq = last.seq;
    this.shownSeq = Math.max(this.shownSeq, last.seq);
    this.publisher.publishEvents(this.lease.runId, fresh, last.seq);
  }

  private pump(when: 'in its window' | 'now' = 'in its window'): void {
    if (this.held || this.inFlight !== undefined || this.queue.length === 0 || !this.canWrite) return;
    const waitMs = when === 'now' || this.hasUrgent() ? 0 : this.window.waitMs;
    if (waitMs > 0) {
      this.flushTimer ??= setTimeout(() => {
        this.flushTimer = undefined;
        this.pump();
      }, waitMs);
      return;
    }
    const batch = this.queue;
    this.queue = [];
    this.eventsInFlight = batch.length;
    this.inFlight = this.append(batch)
      .catch((error: unknown) => this.fail(error))
      .finally(() => {
        this.inFlight = undefined;
        this.wakeWaiters();
        this.pump();
      });
  }

  /** Whether the queue has events that nobody was shown, or is long. */
  private hasUrgent(): boolean {
    return this.shownSeq < this.lastSeq + this.queue.length || this.queue.length >= FULL_QUEUE;
  }

  private async append(batch: readonly RunEvent[]): Promise<void> {
    const options = { ...this.message.changeBy(batch), after: this.lastSeq };
    this.window.begin();
    const appended = await this.options.retry(() => this.store.append(this.lease, batch, options));
    this.window.end();
    this.message.noteAppended();
    this.eventsInFlight = 0;
    this.publishAppended(appended);
    if (!this.held) this.showStreamedText(this.queue);
  }

  private fail(error: unknown): void {
    this.failure ??= { cause: error };
    this.eventsInFlight = 0;
    this.queue = [];
    this.arrived = [];
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

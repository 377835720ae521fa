import { isDeepStrictEqual } from 'node:util';
import type { RunEvents } from '@caribou/bus';
import { isTerminal, type NumberedEvent, type RunRecord, type RunSummary } from '@caribou/contracts';
import type { RunEventLog } from '@caribou/state';
import { type EndedRunStore, readEndedRun } from './read-ended-run.js';
import { retryWhileUnavailable } from './retry-while-unavailable.js';

export interface FollowPorts {
  readonly store: EndedRunStore;
  readonly log: RunEventLog;
  readonly bus: Pick<RunEvents, 'subscribeEvents'>;
}

export interface FollowOptions {
  readonly run: RunSummary;
  /** Number of the last event that the reader already has. */
  readonly after: number;
  /** Number of the newest event that the reader knows to be in the log; default: `after`. */
  readonly logged?: number;
  /** Milliseconds without events after which the log is read. */
  readonly checkMs: number;
  /**
   * Whether the log had no events a moment ago, as that of a run that was just admitted: it is then not read before a live
   * batch shows that there are some, or nothing has arrived for `EMPTY_LOG_CHECK_MS`.
   */
  readonly isLogEmpty?: boolean;
  /** Whether the run may have ended already, so that its record is read without waiting for a silence first. */
  readonly mayBeOver: boolean;
  readonly signal: AbortSignal;
}

export type Followed =
  /** `logged`: up to which number the log has events, as far as is known here; those above it follow. */
  | { readonly kind: 'events'; readonly events: readonly NumberedEvent[]; readonly logged: number }
  /** Events after the cursor were removed; the log begins at `firstKept`. */
  | { readonly kind: 'trimmed'; readonly firstKept: number; readonly lastSeq: number }
  /**
   * The log no longer continues what was read from it: events up to the cursor were lost and may have been replaced.
   */
  | { readonly kind: 'rewound'; readonly firstKept: number; readonly lastSeq: number }
  /** The run has ended, or its record was deleted, and the log has no `end`: the reader ends by itself. */
  | { readonly kind: 'over'; readonly run: RunRecord | null };

type LogPage = Awaited<ReturnType<RunEventLog['read']>>;

/** Time for the first live events of a new run; it covers those that were published before the subscription began. */
const EMPTY_LOG_CHECK_MS = 1_000;
const MAX_WAITING = 512;
const PAGE = 500;

/**
 * One reader's ordered view of a run's events, up to and including its `end`: past events from the log, new ones from
 * the live subscription. Streams and everything else that waits for a run use it.
 *
 * E1 Events are returned in the order of `seq`, each once, starting after `after`.
 * E2 The subscription begins before the first read of the log, so that no event is missed between the two. A log that
 *    was empty is only read when a batch leaves a gap or none has arrived for a second.
 * E3 Live batches only save reads of the log: it is read when a publisher says that it has events that were not
 *    received, after a lost connection, and after every `checkMs` of silence. Streamed text may arrive before it is in
 *    the log; what of it was not received is read once it is.
 * E4 The buffer is bounded: above `MAX_WAITING` events, or while the reader is slow (`pause`), live events are dropped
 *    and read from the log later.
 * E5 An event that is no longer in the log is reported (`trimmed`), never skipped.
 * E6 A log that lost its newest events (a failover, a restored backup) may assign their numbers to other events later. The
 *    follower reports `rewound` once the log lacks events that it had, or differs from the last event that was returned.
 * E6b Numbers that the log left out after a takeover belong to events that were never in it: they are passed over.
 * E7 An unavailable store delays events and loses none; live events are still returned.
 * E8 When the record is terminal or missing twice in a row, and a read of the log in between found no `end`, the events
 *    end with `over`.
 */
export class RunFollower {
  private cursor: number;
  /** The event that was returned under the cursor's number, if there was one. */
  private last: NumberedEvent | undefined;
  private waiting: NumberedEvent[] = [];
  /** Up to which number the log has, or had, events, as far as is known. */
  private logged: number;
  /** Up to which number a publisher said that the log has events since it was last read. */
  private announced = 0;
  private mustRead: boolean;
  private isLogEmpty: boolean;
  /** Whether to read the run's record when the log has nothing new. */
  private mustCheckRun: boolean;
  private wasOver: boolean;
  private paused = false;
  private wake: () => void = () => undefined;
  private unsubscribe: () => void = () => undefined;
  private readonly onAbort = (): void => this.wake();

  private constructor(
    private readonly ports: FollowPorts,
    private readonly options: FollowOptions,
  ) {
    this.cursor = options.after;
    this.logged = options.logged ?? options.after;
    this.isLogEmpty = options.isLogEmpty === true;
    this.mustRead = !this.isLogEmpty;
    this.mustCheckRun = options.mayBeOver;
    this.wasOver = isTerminal(options.run.status);
    options.signal.addEventListener('abort', this.onAbort);
  }

  static async open(ports: FollowPorts, options: FollowOptions): Promise<RunFollower> {
    const follower = new RunFollower(ports, options);
    try {
      follower.unsubscribe = await ports.bus.subscribeEvents(options.run.run_id, {
        onEvents: (events, logged) => follower.receive(events, logged),
        onGap: () => follower.readSoon(),
      });
    } catch (error) {
      follower.close();
      throw error;
    }
    return follower;
  }

  close(): void {
    this.options.signal.removeEventListener('abort', this.onAbort);
    this.unsubscribe();
    this.waiting = [];
  }

  /** Continues just before `seq`, for a reader that knows that earlier events no longer exist. */
  skipTo(seq: number): void {
    this.cursor = Math.max(this.cursor, seq - 1);
    this.readSoon();
  }

  /** Reads the log from its first event again, after `rewound`, for a reader that accepts repeated events. */
  startOver(): void {
    this.cursor = 0;
    this.logged = 0;
    this.last = undefined;
    this.waiting = [];
    this.readSoon();
  }

  /** Reports that the reader is slow: live events are dropped until `resume`. */
  pause(): void {
    this.paused = true;
    this.waiting = [];
    this.mustRead = true;
  }

  resume(): void {
    this.paused = false;
    this.wake();
  }

  /** Returns the next events, or why there are none. @throws the signal's reason */
  next(): Promise<Followed> {
    return retryWhileUnavailable(() => this.findNext(), this.options);
  }

  private async findNext(): Promise<Followed> {
    for (;;) {
      this.options.signal.throwIfAborted();
      const events = this.takeReady();
      if (events.length > 0) return { kind: 'events', events, logged: this.logged };
      if (!this.mustRead && this.announced <= this.cursor) {
        await this.waitForNews();
        continue;
      }
      const found = (await this.readLog()) ?? (await this.checkRun());
      if (found !== undefined) return found;
    }
  }

  private receive(events: readonly NumberedEvent[], logged: number): void {
    this.announced = Math.max(this.announced, logged);
    if (this.paused || this.waiting.length + events.length > MAX_WAITING) {
      this.waiting = [];
      this.mustRead = true;
    } else {
      this.waiting.push(...events);
    }
    this.wake();
  }

  private readSoon(): void {
    this.mustRead = true;
    this.wake();
  }

  /** Accepts live events that follow the cursor without a gap; those after a gap wait for what is read from the log. */
  private takeReady(): NumberedEvent[] {
    const ready: NumberedEvent[] = [];
    for (const [index, item] of this.waiting.entries()) {
      if (item.seq <= this.cursor) {
        // Received twice, or the log lost events and numbers new ones from there: reading the log decides.
        this.mustRead ||= item.seq !== this.last?.seq || !isDeepStrictEqual(item.event, this.last.event);
        continue;
      }
      if (item.seq !== this.cursor + 1) {
        this.waiting = this.waiting.slice(index);
        return ready;
      }
      this.cursor = item.seq;
      this.logged = Math.max(this.logged, Math.min(item.seq, this.announced));
      this.last = item;
      ready.push(item);
    }
    this.waiting = [];
    return ready;
  }

  private async readLog(): Promise<Followed | undefined> {
    const overlap = this.last?.seq === this.cursor ? 1 : 0;
    const page = await this.readPage({ after: this.cursor - overlap, limit: PAGE + overlap });
    const { lastSeq } = page;
    const overlapping = page.events[0]?.seq === this.cursor ? page.events[0] : undefined;
    const events = overlapping === undefined ? page.events : page.events.slice(1);
    if (this.isRewound(page, overlapping)) return { kind: 'rewound', firstKept: page.firstKept, lastSeq };
    const [first, last] = [events[0], events.at(-1)];
    const follows = first === undefined ? page.firstKept - 1 : (first.follows ?? first.seq - 1);
    if (follows > this.cursor) return { kind: 'trimmed', firstKept: follows + 1, lastSeq };
    if (last === undefined) {
      this.dropBeyondHole(lastSeq);
      return undefined;
    }
    this.mustRead ||= last.seq < lastSeq;
    this.cursor = last.seq;
    this.logged = Math.max(this.logged, last.seq);
    this.last = last;
    return { kind: 'events', events, logged: this.logged };
  }

  /** Reads the log. A request during a read causes another read afterwards, which may find more. */
  private async readPage(range: { readonly after: number; readonly limit: number }) {
    const { user_id: userId, run_id: runId } = this.options.run;
    this.mustRead = false;
    this.announced = 0;
    try {
      return await this.ports.log.read(userId, runId, range);
    } catch (error) {
      this.mustRead = true;
      throw error;
    }
  }

  private isRewound({ events, lastSeq }: LogPage, overlapping: NumberedEvent | undefined): boolean {
    if (overlapping !== undefined) return !isDeepStrictEqual(overlapping.event, this.last?.event);
    // A log without events has expired; the run's record says why.
    return lastSeq > 0 && Math.min(lastSeq, events[0]?.follows ?? lastSeq) < this.logged;
  }

  /** Drops live events beyond a gap that the log should have filled, or did not fill during a whole silence. */
  private dropBeyondHole(lastSeq: number): void {
    const next = this.waiting.find(({ seq }) => seq > this.cursor);
    if (next === undefined || next.seq === this.cursor + 1) return;
    if (next.seq <= lastSeq || this.mustCheckRun) this.waiting = [];
  }

  /** Looks at the run, if that is due, after a read of the log that found nothing; reads its record once it has ended. */
  private async checkRun(): Promise<Followed | undefined> {
    if (this.waiting.length > 0 || this.mustRead || !this.mustCheckRun) return undefined;
    const run = await this.readRun();
    const isOver = run !== 'in flight';
    if (isOver && this.wasOver) return { kind: 'over', run };
    // The run may have ended after the log was read: the log is searched for its `end` once more.
    this.wasOver = isOver;
    this.mustCheckRun = isOver;
    this.mustRead ||= isOver;
    return undefined;
  }

  private async readRun(): ReturnType<typeof readEndedRun> {
    try {
      return await readEndedRun(this.ports.store, this.options.run);
    } catch (error) {
      this.mustRead = true;
      throw error;
    }
  }

  /** Resolves when a batch arrives, a read is due, or the signal aborts. */
  private async waitForNews(): Promise<void> {
    const { checkMs } = this.options;
    const isFirst = this.isLogEmpty;
    this.isLogEmpty = false;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(
        () => {
          this.mustRead = true;
          this.mustCheckRun ||= !isFirst;
          finish();
        },
        isFirst ? Math.min(EMPTY_LOG_CHECK_MS, checkMs) : checkMs,
      );
      const finish = (): void => {
        clearTimeout(timer);
        this.wake = () => undefined;
        resolve();
      };
      this.wake = finish;
    });
  }
}

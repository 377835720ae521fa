import type { NumberedEvent } from '@caribou/contracts';
import type { RunEvents } from '@caribou/bus';
import type { RunEventLog } from '@caribou/core';
import { isDeepStrictEqual } from 'node:util';

/**
 * One watcher's ordered view of a run's events: the log for what was, the live subscription for what is.
 *
 * E1 Events leave in the order of `seq`, each once, starting after `after`.
 * E2 The subscription stands before the first read of the log, so nothing falls between the two.
 * E3 Live batches are a shortcut and never believed alone: whatever is not exactly the next number makes the feed
 *    read the log, and so do a lost connection and every `checkMs` of silence.
 * E4 What waits here is bounded: past `MAX_WAITING` events, or while the reader is slow (`pause`), live events are
 *    let go and read from the log later.
 * E5 A number that is no longer in the log is reported (`trimmed`), never stepped over.
 * E6 A log that lost its newest events (a failover, a restored backup) gives their numbers to other events later. The feed
 *    compares the log with the last event it gave out and reports `rewound` once they differ.
 */
export type FeedItem =
  | { readonly kind: 'events'; readonly events: readonly NumberedEvent[] }
  /** Numbers after the cursor are gone; the log begins at `firstKept`. */
  | { readonly kind: 'trimmed'; readonly firstKept: number; readonly lastSeq: number }
  /** The log no longer continues what was read from it: events up to the cursor were lost and may have been replaced. */
  | { readonly kind: 'rewound'; readonly firstKept: number; readonly lastSeq: number }
  /** The log was read and holds nothing after the cursor. */
  | { readonly kind: 'quiet' };

export interface FeedOptions {
  readonly userId: string;
  readonly runId: string;
  /** Number of the last event that is not wanted. */
  readonly after: number;
  /** How long a silence may last before the log is read, in milliseconds. */
  readonly checkMs: number;
  /** Whether to tell at once that the log holds nothing new, instead of after a silence. */
  readonly quietAtOnce: boolean;
  readonly signal: AbortSignal;
}

const MAX_WAITING = 512;
const PAGE = 500;

export class EventFeed {
  private cursor: number;
  /** What was given out under the cursor's number, if anything was. */
  private last: NumberedEvent | undefined;
  private waiting: NumberedEvent[] = [];
  private mustRead = true;
  private tellQuiet: boolean;
  private paused = false;
  private wake: () => void = () => undefined;
  private unsubscribe: () => void = () => undefined;

  private constructor(
    private readonly log: RunEventLog,
    private readonly options: FeedOptions,
  ) {
    this.cursor = options.after;
    this.tellQuiet = options.quietAtOnce;
  }

  static async open(
    log: RunEventLog,
    bus: Pick<RunEvents, 'subscribeEvents'>,
    options: FeedOptions,
  ): Promise<EventFeed> {
    const feed = new EventFeed(log, options);
    feed.unsubscribe = await bus.subscribeEvents(options.runId, {
      onEvents: (events) => feed.hear(events),
      onGap: () => feed.readSoon(),
    });
    return feed;
  }

  close(): void {
    this.unsubscribe();
    this.waiting = [];
  }

  /** Moves on to just before `seq`: used when what lies between is known to be gone. */
  skipTo(seq: number): void {
    this.cursor = Math.max(this.cursor, seq - 1);
    this.readSoon();
  }

  /** Reads the log from its start again: used by a reader for which repeated events do no harm, after `rewound`. */
  startOver(): void {
    this.cursor = 0;
    this.last = undefined;
    this.waiting = [];
    this.readSoon();
  }

  /** The reader is slow: live events are not kept until `resume`. */
  pause(): void {
    this.paused = true;
    this.waiting = [];
    this.mustRead = true;
  }

  resume(): void {
    this.paused = false;
    this.wake();
  }

  /** Makes `next` read the log, and say so when there is nothing new. */
  checkNow(): void {
    this.tellQuiet = true;
    this.readSoon();
  }

  /**
   * The next events, or what is to be known about their absence.
   *
   * @throws {UnavailableError} when the log cannot be read now; calling again goes on where it was
   * @throws the signal's reason
   */
  async next(): Promise<FeedItem> {
    for (;;) {
      this.options.signal.throwIfAborted();
      const ready = this.takeReady();
      if (ready.length > 0) return { kind: 'events', events: ready };
      if (!this.mustRead) {
        await this.somethingNew();
        continue;
      }
      const item = await this.readLog();
      if (item !== undefined) return item;
    }
  }

  private hear(events: readonly NumberedEvent[]): void {
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

  /** The live events that follow the cursor without a hole; a hole makes the log be read. */
  private takeReady(): NumberedEvent[] {
    const ready: NumberedEvent[] = [];
    for (const [index, item] of this.waiting.entries()) {
      if (item.seq <= this.cursor) {
        // Heard twice, or the log lost events and numbers new ones from there: the log tells which.
        this.mustRead ||= !isDeepStrictEqual(item, this.last);
        continue;
      }
      if (item.seq !== this.cursor + 1) {
        this.waiting = this.waiting.slice(index);
        this.mustRead = true;
        return ready;
      }
      this.cursor = item.seq;
      this.last = item;
      ready.push(item);
    }
    this.waiting = [];
    return ready;
  }

  private async readLog(): Promise<FeedItem | undefined> {
    const overlap = this.last?.seq === this.cursor ? 1 : 0;
    const page = await this.readPage({ after: this.cursor - overlap, limit: PAGE + overlap });
    const { lastSeq } = page;
    const overlapping = page.events[0]?.seq === this.cursor ? page.events[0] : undefined;
    const events = overlapping === undefined ? page.events : page.events.slice(1);
    if (this.isRewound(lastSeq, overlapping)) return { kind: 'rewound', firstKept: page.firstKept, lastSeq };
    const first = events[0]?.seq ?? page.firstKept;
    if (first > this.cursor + 1) return { kind: 'trimmed', firstKept: first, lastSeq };
    this.mustRead ||= events.length >= PAGE;
    return this.giveOut(events, lastSeq);
  }

  /** Whatever asks for a read while this one is under way is answered by the next one, which may find more. */
  private async readPage(range: { readonly after: number; readonly limit: number }) {
    this.mustRead = false;
    try {
      return await this.log.read(this.options.userId, this.options.runId, range);
    } catch (error) {
      this.mustRead = true;
      throw error;
    }
  }

  private isRewound(lastSeq: number, overlapping: NumberedEvent | undefined): boolean {
    if (overlapping !== undefined) return !isDeepStrictEqual(overlapping, this.last);
    // A log without events has expired, which is for the run's record to explain.
    return lastSeq > 0 && lastSeq < this.cursor;
  }

  private giveOut(events: readonly NumberedEvent[], lastSeq: number): FeedItem | undefined {
    const last = events.at(-1);
    if (last !== undefined) {
      this.cursor = last.seq;
      this.last = last;
      return { kind: 'events', events };
    }
    this.dropBeyondHole(lastSeq);
    if (this.waiting.length > 0 || this.mustRead || !this.tellQuiet) return undefined;
    this.tellQuiet = false;
    return { kind: 'quiet' };
  }

  /**
   * What was heard beyond a hole that the log does not fill is dropped: the log is the truth. Where the log was read before
   * those events were appended, it is read again.
   */
  private dropBeyondHole(lastSeq: number): void {
    const next = this.waiting.find(({ seq }) => seq > this.cursor);
    if (next === undefined || next.seq === this.cursor + 1) return;
    this.waiting = [];
    this.mustRead ||= next.seq > lastSeq;
  }

  /** Resolves when a batch came, a read is due, or the stream is over. */
  private async somethingNew(): Promise<void> {
    const { signal, checkMs } = this.options;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        this.mustRead = true;
        this.tellQuiet = true;
        done();
      }, checkMs);
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.wake = () => undefined;
        resolve();
      };
      this.wake = done;
      signal.addEventListener('abort', done, { once: true });
    });
  }
}

import { type CheckpointView, isTerminal, type NumberedEvent, NotFoundError, type RunRecord } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { type Followed, type FollowPorts, retryWhileUnavailable, RunFollower } from '@caribou/runs';
import type { OrderedRun, ThreadStore } from '@caribou/state';
import type { Pausable } from '../runs/streams/sse-writer.js';
import type { ValuesCache } from '../runs/streams/values-cache.js';
import type { SequencedEvent } from './projected-event.js';
import { RunProjection } from './projections/run-projection.js';
import { fromSeq, isNeeded, LAST_INDEX, toSeq } from './sequence.js';
import { nextRun, runsBackTo, type StartPosition, startPosition } from './thread-position.js';
import type { ThreadWatch, ThreadWatches } from './thread-watches.js';

export interface ThreadStreamPorts extends FollowPorts {
  readonly store: Pick<ThreadStore, 'getRun' | 'runStatus' | 'newestRuns' | 'head'>;
  readonly values: Pick<ValuesCache, 'text'>;
  readonly watches: ThreadWatches;
  /** Called when a client lacks events that no longer exist. */
  onGap?(): void;
}

/** Where the events of a stream go. */
export interface EventSink {
  /** Called once, with where each of the readers begins. */
  begin?(starts: readonly StartPosition[]): void;
  /** Aborts when the events are no longer wanted. */
  readonly signal: AbortSignal;
  /** Whether an event is delivered; asked before its data is read. */
  wants(event: SequencedEvent): boolean;
  /** @param values the state that the event contains as JSON, if any */
  write(event: SequencedEvent, values: string | null): Promise<void> | undefined;
  /** Called when no further event follows at once. */
  flush(): Promise<void>;
  /** Sets the source that is paused while the reader is slow. */
  pauseWhenSlow(source: Pausable): void;
}

export interface ThreadStreamRequest {
  readonly thread: ThreadKey;
  /**
   * The sequence number up to which the client has all events. Where the sink delivers to several readers, those of all of them.
   */
  readonly since: readonly number[];
  /** Milliseconds without events after which the store is asked. */
  readonly checkMs: number;
}

type Trim = Extract<Followed, { readonly kind: 'trimmed' }>;
/** How many events a runner may show before they are in the log (`MAX_AHEAD` in events.lua). */
const MAX_AHEAD = 1_000;

/**
 * The events of a thread over all its runs, in the order of their sequence numbers, for one reader.
 *
 * T1 Every event is a function of the runs' logs, so each gateway gives the same one under the same number and id.
 * T2 Runs are shown one after the other in the order of their admission; while there is none, the stream is idle. It ends only
 *    with its reader.
 * T3 Where events that the reader needs are gone (an expired or trimmed log, a deleted run, a store that lost writes), it gets the
 *    newest state of the thread as an event `values` in their place, and the end of each run that has ended.
 */
export class ThreadStream {
  private since = 0;
  private done = 0;

  constructor(
    private readonly ports: ThreadStreamPorts,
    private readonly request: ThreadStreamRequest,
    private readonly sink: EventSink,
  ) {}

  /** @throws the reason of the sink's signal */
  async run(): Promise<never> {
    const watch = await this.ports.watches.open(this.request.thread);
    try {
      const first = Math.min(...this.request.since.map((since) => fromSeq(since).ordinal));
      const runs = await this.runsBackTo(({ ordinal }) => ordinal <= first);
      const starts = this.request.since.map((since) => startPosition(runs, since));
      this.sink.begin?.(starts);
      this.since = Math.min(...starts.map(({ since }) => since));
      this.done = Math.min(...starts.map(({ done }) => done));
      let isGap = starts.some((start) => start.isGap);
      for (;;) {
        const next = await this.waitForRun(watch);
        if (next !== undefined) await this.streamRun(next, isGap);
        if (next !== undefined) isGap = false;
      }
    } finally {
      watch.close();
    }
  }

  /** The next run; undefined after a wait, when there may be one. */
  private async waitForRun(watch: ThreadWatch): Promise<OrderedRun | undefined> {
    const { version } = watch;
    const next = await this.nextRun(this.done);
    if (next !== undefined) return next;
    await this.sink.flush();
    await watch.waitBeyond(version, this.sink.signal);
    return undefined;
  }

  private async nextRun(done: number): Promise<OrderedRun | undefined> {
    return nextRun(await this.runsBackTo(({ ordinal }) => ordinal <= done + 1), done);
  }

  private runsBackTo(isEnough: (oldest: OrderedRun) => boolean): Promise<readonly OrderedRun[]> {
    const read = (limit: number) => this.retry(() => this.ports.store.newestRuns(this.request.thread, limit));
    return runsBackTo(read, isEnough);
  }

  private async streamRun({ runId, ordinal }: OrderedRun, isGap: boolean): Promise<void> {
    const run = await this.readRun(runId);
    if (run !== null) await this.follow(run, ordinal, isGap);
    this.done = ordinal;
  }

  private async readRun(runId: string): Promise<RunRecord | null> {
    try {
      return await this.retry(() => this.ports.store.getRun(this.request.thread, runId));
    } catch (error) {
      // It was deleted or rolled back meanwhile.
      if (error instanceof NotFoundError) return null;
      throw error;
    }
  }

  private async follow(run: RunRecord, ordinal: number, isGap: boolean): Promise<void> {
    const follower = await RunFollower.open(this.ports, {
      run,
      after: 0,
      checkMs: this.request.checkMs,
      isLogEmpty: run.status === 'pending' && run.last_seq === 0,
      mayBeOver: isTerminal(run.status),
      signal: this.sink.signal,
    });
    this.sink.pauseWhenSlow(follower);
    try {
      const reader = new RunReader({ run, ordinal, follower, projection: new RunProjection(run, ordinal) });
      if (isGap || this.lacksLoggedEvents(run, ordinal)) await this.sendState(reader, 0);
      await this.readToEnd(reader);
    } finally {
      follower.close();
    }
  }

  /** Whether the client has an event of the run that was in its log and is beyond its end. */
  private lacksLoggedEvents(run: RunRecord, ordinal: number): boolean {
    const position = fromSeq(this.since);
    return position.ordinal === ordinal && run.last_seq > 0 && position.event > run.last_seq + MAX_AHEAD;
  }

  private async readToEnd(reader: RunReader): Promise<void> {
    for (;;) {
      const item = await reader.follower.next();
      switch (item.kind) {
        case 'events':
          if (await this.sendEvents(reader, item.events)) return;
          break;
        case 'trimmed':
          await this.skipTrimmed(reader, item);
          break;
        case 'rewound':
          await this.sendState(reader, item.lastSeq);
          reader.startOver();
          break;
        case 'over':
          await this.sendEnd(reader, item.run);
          return;
      }
    }
  }

  /** Sends the events; returns true after the last one of the run. */
  private async sendEvents(reader: RunReader, events: readonly NumberedEvent[]): Promise<boolean> {
    for (const event of reader.projection.project(events)) await this.send(event);
    await this.sink.flush();
    return events.at(-1)?.event.kind === 'end';
  }

  private async skipTrimmed(reader: RunReader, { firstKept }: Trim): Promise<void> {
    const lastGone = toSeq({ ordinal: reader.ordinal, event: firstKept - 1, index: LAST_INDEX });
    if (isNeeded(lastGone, this.since)) await this.sendState(reader, firstKept - 1);
    reader.projection.skip();
    reader.follower.skipTo(firstKept);
  }

  /** Sends the newest state of the thread in place of events that are gone. */
  private async sendState(reader: RunReader, lastGone: number): Promise<void> {
    this.ports.onGap?.();
    const head = await this.readHead();
    if (head === null) return;
    await this.send(reader.projection.snapshot(head.checkpointId, lastGone));
    await this.sink.flush();
  }

  /** The newest checkpoint; null when there is none, or no thread any more. */
  private async readHead(): Promise<CheckpointView | null> {
    try {
      return await this.retry(() => this.ports.store.head(this.request.thread));
    } catch (error) {
      if (error instanceof NotFoundError) return null;
      throw error;
    }
  }

  /** The end of a run whose log has expired. */
  private async sendEnd(reader: RunReader, run: RunRecord | null): Promise<void> {
    const end = reader.projection.endFromRecord(run);
    if (!isNeeded(end.seq, this.since)) return;
    const isNewest = (await this.nextRun(reader.ordinal)) === undefined;
    if (isNewest) await this.sendState(reader, run?.last_seq ?? 0);
    await this.send(end);
    await this.sink.flush();
  }

  private async send(event: SequencedEvent): Promise<void> {
    if (event.isSnapshot !== true && !isNeeded(event.seq, this.since)) return;
    if (!this.sink.wants(event)) return;
    const { payload } = event;
    if ('data' in payload) return await this.sink.write(event, null);
    const values = await this.retry(() => this.ports.values.text(this.request.thread, payload.checkpointId));
    // The checkpoint was removed by a rollback.
    if (values === null) return;
    await this.sink.write(event, values);
  }

  private retry<T>(read: () => Promise<T>): Promise<T> {
    return retryWhileUnavailable(read, { checkMs: this.request.checkMs, signal: this.sink.signal });
  }
}

interface ReaderParts {
  readonly run: RunRecord;
  readonly ordinal: number;
  readonly follower: RunFollower;
  readonly projection: RunProjection;
}

/** The state of reading one run. */
class RunReader {
  readonly ordinal: number;
  readonly follower: RunFollower;
  projection: RunProjection;

  constructor(private readonly parts: ReaderParts) {
    this.ordinal = parts.ordinal;
    this.follower = parts.follower;
    this.projection = parts.projection;
  }

  /** Reads the log again from its first event. */
  startOver(): void {
    this.projection = new RunProjection(this.parts.run, this.ordinal);
    this.follower.startOver();
  }
}

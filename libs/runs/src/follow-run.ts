import type { RunEvents } from '@caribou/bus';
import { isTerminal, NotFoundError, type RunRecord, type RunSummary, UnavailableError } from '@caribou/contracts';
import type { RunEventLog, ThreadStore } from '@caribou/core';
import { EventFeed, type FeedItem } from './event-feed.js';

export interface FollowPorts {
  readonly store: Pick<ThreadStore, 'getRun'>;
  readonly log: RunEventLog;
  readonly bus: Pick<RunEvents, 'subscribeEvents'>;
}

export interface FollowOptions {
  readonly run: RunSummary;
  readonly after: number;
  readonly checkMs: number;
  /** Whether the run may be over already, so that its record is looked at without a silence first. */
  readonly mayBeOver: boolean;
  readonly signal: AbortSignal;
}

export type Followed =
  | Exclude<FeedItem, { kind: 'quiet' }>
  /** The run is over, or its record gone, and no `end` will come from the log: the watcher ends by itself. */
  | { readonly kind: 'over'; readonly run: RunRecord | null };

/**
 * A run's events up to and with its `end`, for streams and for those that wait. Survives a Redis that is away: it
 * waits and goes on. A record that is terminal or gone while the log stays without an `end`, seen twice, ends it.
 */
export class RunFollower {
  private overSeen = false;

  private constructor(
    private readonly feed: EventFeed,
    private readonly ports: FollowPorts,
    private readonly options: FollowOptions,
  ) {
    this.overSeen = isTerminal(options.run.status);
  }

  static async open(ports: FollowPorts, options: FollowOptions): Promise<RunFollower> {
    const { run, after, checkMs, signal } = options;
    const feed = await EventFeed.open(ports.log, ports.bus, {
      userId: run.user_id,
      runId: run.run_id,
      after,
      checkMs,
      quietAtOnce: options.mayBeOver,
      signal,
    });
    return new RunFollower(feed, ports, options);
  }

  close(): void {
    this.feed.close();
  }

  pause(): void {
    this.feed.pause();
  }

  resume(): void {
    this.feed.resume();
  }

  skipTo(seq: number): void {
    this.feed.skipTo(seq);
  }

  /** Reads the events from the first again, after `rewound`. */
  startOver(): void {
    this.feed.startOver();
  }

  /** The next of it. @throws the signal's reason */
  async next(): Promise<Followed> {
    for (;;) {
      const item = await patiently(() => this.feed.next(), this.options);
      if (item.kind !== 'quiet') return item;
      const run = await patiently(() => this.readRun(), this.options);
      const over = run === null || isTerminal(run.status);
      if (over && this.overSeen) return { kind: 'over', run };
      // The record may have ended between the two reads: look once more before giving up on its `end`.
      this.overSeen = over;
      if (over) this.feed.checkNow();
    }
  }

  private async readRun(): Promise<RunRecord | null> {
    const { user_id: userId, thread_id: threadId, run_id: runId } = this.options.run;
    try {
      return await this.ports.store.getRun({ userId, threadId }, runId);
    } catch (error) {
      if (error instanceof NotFoundError) return null;
      throw error;
    }
  }
}

/** Repeats a read while the store is away: an open stream outlives a restart of Redis. @throws the signal's reason */
export async function patiently<T>(
  read: () => Promise<T>,
  options: { readonly checkMs: number; readonly signal: AbortSignal },
): Promise<T> {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
    }
    await pause(Math.min(options.checkMs, MAX_RETRY_MS), options.signal);
  }
}

const MAX_RETRY_MS = 500;

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
  signal.throwIfAborted();
}

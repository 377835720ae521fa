import { type NumberedEvent, runEventsSubject } from '@caribou/contracts';
import { type Logger, SlotMap } from '@caribou/core';
import type { RunEventListener, RunEvents, Unsubscribe } from '../connection/bus.js';
import { decodeBatch, encodeBatches, encodeMarker } from './event-batch.js';
import type { NatsLink } from '../connection/nats-link.js';
import { PublicationQueue } from './publication-queue.js';

const CONFIRM_TIMEOUT_MS = 2_000;
/** Number of recently published runs that are certainly remembered; of at most twice as many. */
const MAX_RECENT_RUNS = 1_000;
/** Bytes reserved for subject and protocol below the server's limit. */
const ENVELOPE_BYTES = 1_024;

/** Time for the first listener of a run that is expected. */
const EXPECTED_MS = 2_000;

interface WatchedRun {
  readonly listeners: Set<RunEventListener>;
  readonly unsubscribe: Unsubscribe;
  /** Whether the server has confirmed the subscription. */
  readonly confirmed: Promise<boolean>;
  /** Whether something arrived before the first listener. */
  isMissed: boolean;
}

interface Wire {
  readonly link: NatsLink;
  readonly confirm: () => Promise<boolean>;
}

/** The live events of runs. Delivery is best effort; together with the log it is complete. */
export function createRunEvents(link: NatsLink, logger: Logger): RunEvents {
  const watched = new SlotMap<WatchedRun>();
  const confirm = createSharedConfirm(link);
  const wire: Wire = { link, confirm };
  link.onUp(() => {
    for (const run of watched.values()) void confirmThenTell(wire, run);
  });
  const dropUnheard = (runId: string, run: WatchedRun): void => {
    if (run.listeners.size > 0 || watched.get(runId) !== run) return;
    watched.delete(runId);
    run.unsubscribe();
  };
  return {
    publishEvents: eventPublisher(link, logger),
    expectEvents: (runId) => {
      if (watched.get(runId) !== undefined) return () => undefined;
      const run = watch(wire, runId);
      watched.set(runId, run);
      const release = (): void => {
        clearTimeout(timer);
        dropUnheard(runId, run);
      };
      const timer = setTimeout(release, EXPECTED_MS);
      timer.unref();
      return release;
    },
    subscribeEvents: async (runId, listener) => {
      const run = watched.get(runId) ?? watch(wire, runId);
      watched.set(runId, run);
      run.listeners.add(listener);
      if (run.isMissed) listener.onGap();
      run.isMissed = false;
      if (!(await run.confirmed)) void confirmThenTell(wire, run);
      return () => {
        run.listeners.delete(listener);
        dropUnheard(runId, run);
      };
    },
  };
}

function watch({ link, confirm }: Wire, runId: string): WatchedRun {
  const listeners = new Set<RunEventListener>();
  const unsubscribe = link.subscribe(runEventsSubject(runId), ({ data }) => {
    run.isMissed ||= listeners.size === 0;
    if (run.isMissed) return;
    const batch = decodeBatch(data);
    for (const listener of [...listeners]) {
      if (batch === undefined) listener.onGap();
      else listener.onEvents(batch.events, batch.logged);
    }
  });
  const run: WatchedRun = { listeners, unsubscribe, confirmed: confirm(), isMissed: false };
  return run;
}

/** After a connect, or a subscription that was not confirmed, earlier events may be missing. */
async function confirmThenTell({ link, confirm }: Wire, run: WatchedRun): Promise<void> {
  while (link.connected && run.listeners.size > 0) {
    if (!(await confirm())) continue;
    for (const listener of [...run.listeners]) listener.onGap();
    return;
  }
}

/**
 * Creates a function that confirms by a round trip that the server has what was sent before the call. Calls of one turn
 * of the event loop share the round trip.
 */
function createSharedConfirm(link: NatsLink): () => Promise<boolean> {
  let shared: Promise<boolean> | undefined;
  const roundTrip = async (): Promise<boolean> => {
    await new Promise<void>((resolve) => setImmediate(resolve));
    shared = undefined;
    try {
      await link.flush(CONFIRM_TIMEOUT_MS);
      return true;
    } catch {
      // The server is away or slow; the next connect or attempt notifies the listeners.
      return false;
    }
  };
  return () => {
    shared ??= roundTrip();
    return shared;
  };
}

/**
 * Publishes batches, as `PublicationQueue` joins them. After each connect, a marker is published for recent runs, because what was
 * sent on the lost connection may not have arrived, and events that happened meanwhile were not sent.
 */
function eventPublisher(link: NatsLink, logger: Logger): RunEvents['publishEvents'] {
  const recent = new RecentRuns();
  const send = (runId: string, batches: () => readonly Uint8Array[]): void => {
    try {
      for (const batch of batches()) link.connection.publish(runEventsSubject(runId), batch);
    } catch (cause) {
      logger.debug({ error: cause, runId }, 'nats: live events were not sent, watchers read the log later');
    }
  };
  const maxBytes = (): number => (link.connection.info?.max_payload ?? 1_048_576) - ENVELOPE_BYTES;
  const queue = new PublicationQueue((runId, publication) => send(runId, () => encodeBatches(publication, maxBytes())));
  link.onUp(() => {
    for (const [runId, seq] of recent.all()) send(runId, () => [encodeMarker(seq)]);
  });
  return (runId: string, events: readonly NumberedEvent[], logged: number) => {
    if (logged === 0) return;
    recent.note(runId, logged);
    if (link.connected) queue.add(runId, { events, logged });
  };
}

/**
 * The newest numbers of the runs that were published last. What is too old is forgotten all at once: the first key of a `Map` from which
 * keys are deleted all the time is found behind the holes of many others.
 */
class RecentRuns {
  private newest = new Map<string, number>();
  private older = new Map<string, number>();

  note(runId: string, seq: number): void {
    this.newest.set(runId, seq);
    if (this.newest.size < MAX_RECENT_RUNS) return;
    this.older = this.newest;
    this.newest = new Map();
  }

  all(): ReadonlyMap<string, number> {
    return new Map([...this.older, ...this.newest]);
  }
}

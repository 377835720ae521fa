import type { RunEvent } from '@caribou/contracts';
import { SlotMap } from '@caribou/core';
import type { Publication } from './event-batch.js';

/** How long events that only announce work wait for the next ones of their run, in milliseconds. */
const ANNOUNCEMENT_MS = 100;

/** Nobody waits for these: what they announce follows, mostly within milliseconds. */
const ANNOUNCEMENTS: ReadonlySet<RunEvent['kind']> = new Set(['run.start', 'checkpoint', 'task.start', 'model.start']);

type Send = (runId: string, publication: Publication) => void;

interface Waiting {
  readonly runId: string;
  publication: Publication;
  /** Runs until the events are due; undefined once they are. */
  timer: NodeJS.Timeout | undefined;
}

/**
 * Joins what is published of a run within one turn of the event loop, and sends all runs' publications of that turn one after the
 * other, so that they share a write. A message costs its sender, the server, each gateway and each client about as much as its events
 * do, so announcements wait for the event that they announce.
 */
export class PublicationQueue {
  private readonly waiting = new SlotMap<Waiting>();
  private due: Waiting[] = [];

  constructor(
    private readonly send: Send,
    private readonly announcementMs = ANNOUNCEMENT_MS,
  ) {}

  add(runId: string, publication: Publication): void {
    const known = this.waiting.get(runId);
    if (known === undefined) {
      this.begin({ runId, publication, timer: undefined }, publication);
      return;
    }
    known.publication = joined(known.publication, publication);
    if (known.timer !== undefined && !isAnnouncement(publication)) this.makeDue(known);
  }

  private begin(waiting: Waiting, publication: Publication): void {
    this.waiting.set(waiting.runId, waiting);
    if (!isAnnouncement(publication)) this.makeDue(waiting);
    else waiting.timer = setTimeout(() => this.makeDue(waiting), this.announcementMs).unref();
  }

  private makeDue(waiting: Waiting): void {
    clearTimeout(waiting.timer);
    waiting.timer = undefined;
    this.due.push(waiting);
    if (this.due.length === 1) setImmediate(() => this.sendDue());
  }

  private sendDue(): void {
    const due = this.due;
    this.due = [];
    for (const { runId, publication } of due) {
      this.waiting.delete(runId);
      this.send(runId, publication);
    }
  }
}

const joined = (first: Publication, second: Publication): Publication => ({
  events: [...first.events, ...second.events],
  logged: Math.max(first.logged, second.logged),
});

/** A publication without events says that the log has those which were published before. */
const isAnnouncement = ({ events }: Publication): boolean => events.every(({ event }) => ANNOUNCEMENTS.has(event.kind));

import type { Pausable } from '../../runs/streams/sse-writer.js';
import { type Filter, isDelivered } from '../event-filter.js';
import { eventParts, type SequencedEvent } from '../projected-event.js';
import { isNeeded } from '../sequence.js';
import type { StartPosition } from '../thread-position.js';
import type { EventSink } from '../thread-stream.js';
import type { SocketWriter } from './socket-writer.js';

interface Subscription {
  readonly filter: Filter;
  /** Up to which number its events were sent. */
  position: number;
}

export interface SubscriptionPorts {
  /** Gives the events after the lowest of these positions to a sink until its signal aborts. @throws the signal's reason */
  follow(since: readonly number[], sink: EventSink): Promise<never>;
  /** Called when the events cannot be read, for a reason that is not the client's. */
  onBreak(error: unknown): void;
}

/**
 * The subscriptions of one socket. Their events are sent by one reader of the thread, in the order of their numbers: an event does
 * not name a subscription, clients give each to all of theirs that want it, and the end of a run must not come before what other
 * subscriptions still lack. A new subscription makes the reader begin again where this one begins; what is repeated has the same ids.
 */
export class SocketSubscriptions {
  private readonly subscriptions = new Map<string, Subscription>();
  private reading = new AbortController();
  private reader: Promise<void> = Promise.resolve();

  constructor(
    private readonly ports: SubscriptionPorts,
    private readonly writer: SocketWriter,
  ) {}

  get size(): number {
    return this.subscriptions.size;
  }

  get ids(): string[] {
    return [...this.subscriptions.keys()];
  }

  has(id: string): boolean {
    return this.subscriptions.has(id);
  }

  /** Adds subscriptions, which begin after their positions. */
  add(added: readonly (readonly [id: string, filter: Filter, position: number])[]): void {
    for (const [id, filter, position] of added) this.subscriptions.set(id, { filter, position });
    this.readAgain();
  }

  /** Begins subscriptions again after the event with this number. */
  rewind(ids: readonly string[], since: number): void {
    this.add(
      ids.flatMap((id) => {
        const known = this.subscriptions.get(id);
        return known === undefined ? [] : [[id, known.filter, since] as const];
      }),
    );
  }

  /** Removes a subscription; false when there is none. */
  remove(id: string): boolean {
    const removed = this.subscriptions.delete(id);
    if (this.subscriptions.size === 0) this.reading.abort();
    return removed;
  }

  close(): void {
    this.subscriptions.clear();
    this.reading.abort();
  }

  /** Ends the reader, and starts another once it has sent what it was about to send. */
  private readAgain(): void {
    this.reading.abort();
    const reading = new AbortController();
    this.reading = reading;
    this.reader = this.reader.then(() => this.read(reading.signal));
  }

  /** Never rejects. */
  private async read(stopped: AbortSignal): Promise<void> {
    const { writer, ports } = this;
    const sink = new SubscriptionsSink([...this.subscriptions.values()], () => this.subscriptions.values(), {
      writer,
      signal: AbortSignal.any([writer.signal, stopped]),
    });
    try {
      if (!sink.signal.aborted) await ports.follow(sink.positions, sink);
    } catch (error) {
      if (sink.signal.aborted) return;
      ports.onBreak(error);
      writer.cut('shutdown');
    } finally {
      sink.close();
    }
  }
}

interface SinkParts {
  readonly writer: SocketWriter;
  readonly signal: AbortSignal;
}

class SubscriptionsSink implements EventSink {
  readonly signal: AbortSignal;
  private removeSource: () => void = () => undefined;

  constructor(
    /** Those that the reader began for, in the order of their positions. */
    private readonly begun: readonly Subscription[],
    private readonly current: () => Iterable<Subscription>,
    private readonly parts: SinkParts,
  ) {
    this.signal = parts.signal;
  }

  get positions(): number[] {
    return this.begun.map(({ position }) => position);
  }

  begin(starts: readonly StartPosition[]): void {
    for (const [index, { since }] of starts.entries()) {
      const subscription = this.begun[index];
      if (subscription !== undefined) subscription.position = since;
    }
  }

  wants(event: SequencedEvent): boolean {
    for (const { filter, position } of this.current()) {
      if (!isDelivered(event, filter)) continue;
      if (event.isSnapshot === true || isNeeded(event.seq, position)) return true;
    }
    this.advance(event);
    return false;
  }

  async write(event: SequencedEvent, values: string | null): Promise<void> {
    const parts = eventParts(event, values);
    await this.parts.writer.write(typeof parts === 'string' ? parts : parts.join(''));
    this.advance(event);
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  pauseWhenSlow(source: Pausable): void {
    this.removeSource();
    this.removeSource = this.parts.writer.pauseWhenSlow(source);
  }

  close(): void {
    this.removeSource();
  }

  /** After a state in place of lost events, later events may have lower numbers than before. */
  private advance({ seq, isSnapshot }: SequencedEvent): void {
    for (const subscription of this.current()) {
      subscription.position = isSnapshot === true ? seq : Math.max(subscription.position, seq);
    }
  }
}

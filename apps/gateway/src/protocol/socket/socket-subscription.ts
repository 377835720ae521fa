import type { EventFilter } from '@caribou/contracts';
import { type Filter, isDelivered } from '../event-filter.js';
import { eventParts, type SequencedEvent } from '../projected-event.js';
import type { Pausable } from '../../runs/streams/sse-writer.js';
import type { EventSink } from '../thread-stream.js';
import type { SocketWriter } from './socket-writer.js';

/**
 * One subscription of a socket. Events on a socket do not name subscriptions: a client gives each event to all of its
 * subscriptions that want it, and so needs it once. What another subscription has sent since this one began is not sent again.
 */
export class SocketSubscription implements EventSink {
  readonly signal: AbortSignal;
  private readonly ended = new AbortController();
  /** Up to which number the others had sent when this one began. */
  private readonly sentBefore = new Map<SocketSubscription, number>();
  private first: number | undefined;
  /** Up to which number this one has sent what it wants. */
  private position = -1;
  private removeSource: () => void = () => undefined;

  constructor(
    readonly id: string,
    readonly filter: EventFilter,
    private readonly writer: SocketWriter,
    private readonly others: () => Iterable<SocketSubscription>,
  ) {
    this.signal = AbortSignal.any([writer.signal, this.ended.signal]);
    for (const other of others()) if (other !== this) this.sentBefore.set(other, other.position);
  }

  /** Ends the subscription; idempotent. */
  end(): void {
    this.ended.abort();
    this.removeSource();
  }

  wants(event: SequencedEvent): boolean {
    this.first ??= event.seq;
    if (isDelivered(event, this.filter) && !this.wasSent(event)) return true;
    this.position = event.seq;
    return false;
  }

  async write(event: SequencedEvent, values: string | null): Promise<void> {
    const parts = eventParts(event, values);
    await this.writer.write(typeof parts === 'string' ? parts : parts.join(''));
    this.position = event.seq;
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  pauseWhenSlow(source: Pausable): void {
    this.removeSource();
    this.removeSource = this.writer.pauseWhenSlow(source);
  }

  private wasSent(event: SequencedEvent): boolean {
    for (const other of this.others()) {
      if (other !== this && other.hasSent(event, this.sentBefore.get(other))) return true;
    }
    return false;
  }

  /** Whether this one has sent the event, after those up to `after`. */
  private hasSent(event: SequencedEvent, after = (this.first ?? Number.POSITIVE_INFINITY) - 1): boolean {
    return event.seq > after && event.seq <= this.position && isDelivered(event, this.filter satisfies Filter);
  }
}

import { streams, type WakeRole } from '@caribou/contracts';
import { type Msg, nanos } from 'nats';
import type { Unsubscribe } from '../connection/bus.js';
import { deliveryOf, type Delivery } from '../connection/delivery.js';
import type { NatsLink } from '../connection/nats-link.js';

/**
 * Maximum time that one request waits at the server. It is short because a consumer that was created again right after
 * its deletion may not notice a new message before the next request (nats-server 2.9.10).
 */
const EXPIRES_MS = 6_000;
/** How often the server confirms a waiting request. When two confirmations are missing, the request got lost. */
const HEARTBEAT_MS = 1_500;
const SILENCE_MS = 2 * HEARTBEAT_MS;

const REQUEST = JSON.stringify({ batch: 1, expires: nanos(EXPIRES_MS), idle_heartbeat: nanos(HEARTBEAT_MS) });

/** Status codes of the protocol. */
const HEARTBEAT = 100;
const NO_MESSAGE: readonly number[] = [404, 408];

export interface PullListener {
  onMessage(message: Delivery): void;
  /** Called when the server has shown that it has the request. */
  onHeartbeat(): void;
  /** Called when the request ended without a message. */
  onTimeout(): void;
  /** Called when the request was refused or lost: consumer, stream or connection may be gone. */
  onError(reason: string): void;
}

/**
 * Pulls one message at a time from the consumer of a role's wakes. The client library's `next()` creates a
 * subscription, an iterator and four timers for each; here all requests share one inbox.
 */
export class NextMessage {
  private readonly inbox: string;
  private readonly nextSubject: string;
  private readonly unsubscribe: Unsubscribe;
  private silence: NodeJS.Timeout | undefined;

  constructor(
    private readonly link: NatsLink,
    role: WakeRole,
    private readonly listener: PullListener,
  ) {
    const { name, consumer } = streams[role];
    this.inbox = link.inbox();
    this.nextSubject = `$JS.API.CONSUMER.MSG.NEXT.${name}.${consumer}`;
    this.unsubscribe = link.subscribe(this.inbox, (message) => this.receive(message));
  }

  get waiting(): boolean {
    return this.silence !== undefined;
  }

  /** Sends a request unless one is waiting. @throws {UnavailableError} while there is no connection */
  pull(): void {
    if (this.waiting) return;
    this.link.connection.publish(this.nextSubject, REQUEST, { reply: this.inbox });
    this.silence = setTimeout(() => {
      this.stopWaiting();
      this.listener.onError('a request for a wake got lost');
    }, SILENCE_MS);
  }

  /** Drops the waiting request, of which a new connection does not know. */
  reset(): void {
    this.stopWaiting();
  }

  close(): void {
    this.stopWaiting();
    this.unsubscribe();
  }

  private stopWaiting(): void {
    clearTimeout(this.silence);
    this.silence = undefined;
  }

  private receive(message: Msg): void {
    const code = message.headers?.code ?? 0;
    if (code === HEARTBEAT) {
      this.silence?.refresh();
      this.listener.onHeartbeat();
      return;
    }
    this.stopWaiting();
    if (code === 0) this.listener.onMessage(deliveryOf(message, this.link));
    else if (NO_MESSAGE.includes(code)) this.listener.onTimeout();
    else this.listener.onError(`${code} ${message.headers?.description ?? ''}`);
  }
}

import { streams, type WakeRole } from '@caribou/contracts';
import { type Msg, nanos } from 'nats';
import type { Unsubscribe } from '../connection/bus.js';
import { deliveryOf, type Delivery } from '../connection/delivery.js';
import type { NatsLink } from '../connection/nats-link.js';

/**
 * One request waits at the server for at most this long. It is short because a consumer that was made again right after
 * its deletion may not notice a new message before the next request (nats-server 2.9.10).
 */
const EXPIRES_MS = 6_000;
/** The server shows that a waiting request lives; two missing signs, and the request got lost. */
const SIGN_OF_LIFE_MS = 1_500;
const SILENCE_MS = 2 * SIGN_OF_LIFE_MS;

const REQUEST = JSON.stringify({ batch: 1, expires: nanos(EXPIRES_MS), idle_heartbeat: nanos(SIGN_OF_LIFE_MS) });

/** Statuses of the protocol. */
const ALIVE = 100;
const NOTHING_CAME: readonly number[] = [404, 408];

export interface Answers {
  onMessage(message: Delivery): void;
  /** The server showed that the request is known. */
  onAlive(): void;
  /** The request ended without one: ask again. */
  onNothing(): void;
  /** It was refused or got lost: consumer, stream or connection may be gone. */
  onTrouble(reason: string): void;
}

/**
 * Asks the consumer of a role's wakes for one message at a time. The client library's `next()` makes a subscription, an
 * iterator and four timers for each; here all requests share one inbox.
 */
export class NextMessage {
  private readonly inbox: string;
  private readonly nextSubject: string;
  private readonly unsubscribe: Unsubscribe;
  private silence: NodeJS.Timeout | undefined;

  constructor(
    private readonly link: NatsLink,
    role: WakeRole,
    private readonly answers: Answers,
  ) {
    const { name, consumer } = streams[role];
    this.inbox = link.inbox();
    this.nextSubject = `$JS.API.CONSUMER.MSG.NEXT.${name}.${consumer}`;
    this.unsubscribe = link.subscribe(this.inbox, (message) => this.hear(message));
  }

  get waiting(): boolean {
    return this.silence !== undefined;
  }

  /** Sends a request unless one waits. @throws {UnavailableError} while there is no connection */
  ask(): void {
    if (this.waiting) return;
    this.link.connection.publish(this.nextSubject, REQUEST, { reply: this.inbox });
    this.silence = setTimeout(() => {
      this.over();
      this.answers.onTrouble('a request for a wake got lost');
    }, SILENCE_MS);
  }

  /** The connection is another one: what waited is not known there. */
  forget(): void {
    this.over();
  }

  close(): void {
    this.over();
    this.unsubscribe();
  }

  private over(): void {
    clearTimeout(this.silence);
    this.silence = undefined;
  }

  private hear(message: Msg): void {
    const code = message.headers?.code ?? 0;
    if (code === ALIVE) {
      this.silence?.refresh();
      this.answers.onAlive();
      return;
    }
    this.over();
    if (code === 0) this.answers.onMessage(deliveryOf(message, this.link));
    else if (NOTHING_CAME.includes(code)) this.answers.onNothing();
    else this.answers.onTrouble(`${code} ${message.headers?.description ?? ''}`);
  }
}

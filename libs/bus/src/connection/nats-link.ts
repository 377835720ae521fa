import { omitUndefined, UnavailableError } from '@caribou/contracts';
import { SlotSet, WriteCoalescer } from '@caribou/core';
import { connect, createInbox, deferred, type Msg, type NatsConnection, type Subscription } from 'nats';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Unsubscribe } from './bus.js';
import { connectionOptions, type LinkOptions, RECONNECT_WAIT_MS } from './nats-connection-options.js';
import { natsFailure } from './nats-errors.js';
import { socketOf } from './nats-socket.js';
import { natsTarget } from './nats-target.js';

/** Messages that are sent within this many milliseconds share a write under load. */
const WRITES_PER_SECOND = 1_000;

interface Registered {
  readonly subject: string;
  readonly onMessage: (message: Msg) => void;
  readonly queue: string | undefined;
  live: Subscription | undefined;
}

/**
 * The permanent connection of a process: established in the background, and restored with its subscriptions when it is
 * lost. While it is away every operation on it fails at once, because the client library would send what it buffers at
 * an unknown time.
 */
export class NatsLink {
  private current: NatsConnection | undefined;
  private up = false;
  private sessions = 0;
  private readonly writes = new WriteCoalescer({ sustainedPerSecond: WRITES_PER_SECOND });
  private readonly closing = new AbortController();
  private readonly registered = new SlotSet<Registered>();
  private readonly upListeners = new Set<() => void>();
  private readonly downListeners = new Set<() => void>();
  private readonly ended: Promise<void>;

  constructor(private readonly options: LinkOptions) {
    this.ended = this.keepConnected();
  }

  get connected(): boolean {
    return this.up;
  }

  /**
   * How often the link was connected. The server lets a client reply only in the session in which it got the request.
   */
  get session(): number {
    return this.sessions;
  }

  /**
   * The live connection; messages that are sent at once on it share a write. @throws {UnavailableError} while there is
   * no connection
   */
  get connection(): NatsConnection {
    if (!this.up || this.current === undefined) {
      throw new UnavailableError('NATS: not connected', { details: { dependency: 'nats' } });
    }
    const socket = socketOf(this.current);
    if (socket !== undefined) this.writes.cork(socket);
    return this.current;
  }

  /** Creates a subject for replies, with the prefix that this service may subscribe to. */
  inbox(): string {
    return createInbox(this.options.access?.inboxPrefix);
  }

  /** Aborts when the link is closed. */
  get closed(): AbortSignal {
    return this.closing.signal;
  }

  /** Calls back after every connect and reconnect, when the subscriptions are on their way to the server. */
  onUp(listener: () => void): void {
    this.upListeners.add(listener);
    if (this.up) listener();
  }

  onDown(listener: () => void): void {
    this.downListeners.add(listener);
  }

  /** Resolves at the first moment with a connection. @throws the signal's reason, or UnavailableError once closed */
  async waitUntilConnected(signal?: AbortSignal): Promise<void> {
    if (this.up) return;
    const stop = signal === undefined ? this.closed : AbortSignal.any([signal, this.closed]);
    stop.throwIfAborted();
    const turned = deferred();
    const resolve = (): void => turned.resolve();
    const giveUp = (): void => turned.reject(stop.reason);
    stop.addEventListener('abort', giveUp, { once: true });
    this.upListeners.add(resolve);
    try {
      await turned;
    } finally {
      this.upListeners.delete(resolve);
      stop.removeEventListener('abort', giveUp);
    }
  }

  /** Waits for an exchange with the server, at most until the connection is lost. @throws {UnavailableError} */
  async whileUp<T>(work: (connection: NatsConnection) => Promise<T>): Promise<T> {
    const lost = deferred<never>();
    const giveUp = (): void => {
      lost.reject(new UnavailableError('NATS: the connection was lost', { details: { dependency: 'nats' } }));
    };
    this.downListeners.add(giveUp);
    try {
      return await Promise.race([work(this.connection), lost]);
    } finally {
      this.downListeners.delete(giveUp);
    }
  }

  /**
   * Subscribes to a subject, on this connection and all later ones. A member of a queue group also receives what the server
   * sends it before it knows of the end, as no other member does.
   */
  subscribe(
    subject: string,
    onMessage: (message: Msg) => void,
    { queue }: { readonly queue?: string } = {},
  ): Unsubscribe {
    const entry: Registered = { subject, onMessage, queue, live: undefined };
    const remove = this.registered.add(entry);
    if (this.current !== undefined && !this.current.isClosed()) this.attach(entry, this.current);
    return () => {
      remove();
      if (this.current?.isClosed() === false) this.detach(entry);
    };
  }

  /**
   * Makes a round trip: messages sent before it have then reached the server. @throws {UnavailableError} not within
   * `timeoutMs`
   */
  async flush(timeoutMs: number): Promise<void> {
    const late = deferred<never>();
    const timer = setTimeout(() => {
      late.reject(new UnavailableError(`NATS: no answer within ${timeoutMs} ms`, { details: { dependency: 'nats' } }));
    }, timeoutMs).unref();
    try {
      await this.whileUp((connection) => Promise.race([connection.flush(), late]));
    } catch (cause) {
      throw natsFailure('reach the server', cause);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Drains for at most `timeoutMs`, then closes. Idempotent. */
  async close(timeoutMs: number): Promise<void> {
    this.closing.abort(new UnavailableError('NATS: the connection is closed', { details: { dependency: 'nats' } }));
    const connection = this.current;
    if (connection !== undefined && !connection.isClosed()) {
      const drained = connection.drain().catch((cause: unknown) => {
        this.options.logger.debug({ error: cause }, 'nats: drain did not finish');
      });
      await Promise.race([drained, sleep(timeoutMs, undefined, { ref: false })]);
      if (!connection.isClosed()) await connection.close();
    }
    await this.ended;
  }

  private async keepConnected(): Promise<void> {
    const { logger, url } = this.options;
    let failures = 0;
    while (!this.closing.signal.aborted) {
      try {
        this.current = await connect(connectionOptions(this.options));
        failures = 0;
        await this.live(this.current);
      } catch (cause) {
        failures += 1;
        if (failures === 1)
          logger.warn({ error: cause }, `nats: no connection to ${natsTarget(url).servers.join(', ')} yet, trying on`);
        await this.pause(Math.min(failures, 8) * RECONNECT_WAIT_MS);
      }
    }
  }

  /** Resolves when the connection is closed finally; the client library reconnects by itself before that. */
  private async live(connection: NatsConnection): Promise<void> {
    const { logger } = this.options;
    if (this.closing.signal.aborted) {
      await connection.close();
      return;
    }
    for (const entry of this.registered) this.attach(entry, connection);
    this.setUp(connection);
    // The client library never ends this iterator, so it is not awaited.
    void this.watch(connection);
    const error = await connection.closed();
    this.setDown();
    if (this.closing.signal.aborted) return;
    logger.error({ error: error ?? undefined }, 'nats: the connection ended, making a new one');
    await this.pause(RECONNECT_WAIT_MS);
  }

  private async watch(connection: NatsConnection): Promise<void> {
    for await (const { type, data, permissionContext } of connection.status()) {
      if (type === 'disconnect') this.setDown();
      else if (type === 'reconnect') this.setUp(connection);
      else if (type === 'error' && permissionContext !== undefined)
        this.options.logger.error(
          { method: permissionContext.operation, subject: permissionContext.subject },
          'nats: the server does not permit this',
        );
      else if (type === 'error')
        this.options.logger.warn({ reason: JSON.stringify(data) }, 'nats: error from the server');
    }
  }

  private setUp(connection: NatsConnection): void {
    if (this.up) return;
    this.up = true;
    this.sessions += 1;
    this.options.logger.info({ server: connection.getServer() }, 'nats: connected');
    for (const listener of [...this.upListeners]) listener();
  }

  private setDown(): void {
    if (!this.up) return;
    this.up = false;
    if (!this.closing.signal.aborted) this.options.logger.warn({}, 'nats: connection lost');
    for (const listener of [...this.downListeners]) listener();
  }

  private attach(entry: Registered, connection: NatsConnection): void {
    entry.live = connection.subscribe(entry.subject, {
      ...omitUndefined({ queue: entry.queue }),
      callback: (error, message) => {
        if (error === null) entry.onMessage(message);
        else this.options.logger.error({ error, subject: entry.subject }, 'nats: subscription refused');
      },
    });
  }

  private detach({ live, queue, subject }: Registered): void {
    if (queue === undefined) live?.unsubscribe();
    else
      live?.drain().catch((error: unknown) => {
        this.options.logger.debug({ error, subject }, 'nats: a subscription ended with its connection');
      });
  }

  private async pause(ms: number): Promise<void> {
    const jittered = ms * (0.5 + Math.random());
    await sleep(jittered, undefined, { signal: this.closing.signal }).catch(() => undefined);
  }
}

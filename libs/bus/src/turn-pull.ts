import { newId, streams } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import type { Consumer, Expires, IdleHeartbeat, JsMsg } from 'nats';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PullOptions, Wake, WakePull } from './bus.js';
import type { DeadLetters } from './bus.js';
import type { NatsLink } from './nats-link.js';
import type { StreamKeeper } from './stream-keeper.js';
import { decodeWake } from './wake-message.js';

/**
 * One request for a wake waits at the server for at most `expires` milliseconds. It is short because a consumer that was
 * made again right after its deletion may not notice a new message before the next request (nats-server 2.9.10). A
 * request that got lost is noticed after two missing signs of life, sent every `idle_heartbeat`.
 */
const PULL: Expires & IdleHeartbeat = { expires: 6_000, idle_heartbeat: 1_500 };
const ACK_TIMEOUT_MS = 2_000;
const RETRY_MS = 250;
const MAX_RETRY_MS = 5_000;
/** A wake of newer code is offered again this much later. */
const NEWER_DELAY_MS = 5_000;
const MAX_LETTER_CHARS = 4_096;

interface PullParts {
  readonly link: NatsLink;
  readonly keeper: StreamKeeper;
  readonly deadLetters: DeadLetters;
  readonly logger: Logger;
}

/**
 * Asks for one wake at a time while a handler slot is free. Prefetching would start the ack clock of wakes that nobody
 * works on and deliver them twice.
 */
export class TurnPull implements WakePull {
  private readonly stopping = new AbortController();
  private readonly running = new Set<Promise<void>>();

  constructor(
    private readonly parts: PullParts,
    private readonly options: PullOptions,
  ) {
    void this.pullUntilStopped();
  }

  stop(): void {
    this.stopping.abort(new Error('no more wakes are pulled'));
  }

  async idle(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running);
  }

  private async pullUntilStopped(): Promise<void> {
    const { link, logger } = this.parts;
    const { signal } = this.stopping;
    let consumer: Consumer | undefined;
    let failures = 0;
    while (!signal.aborted && !link.closed.aborted) {
      try {
        if (this.running.size >= this.options.slots) {
          await Promise.race(this.running);
          continue;
        }
        await link.whenConnected(signal);
        consumer ??= await this.bind();
        const message = await consumer.next({ ...PULL });
        failures = 0;
        if (message !== null) this.take(message);
      } catch (cause) {
        consumer = undefined;
        failures += 1;
        if (signal.aborted || link.closed.aborted) return;
        logger.warn({ error: cause, attempt: failures }, 'nats: pulling wakes failed, trying on');
        await this.pause(Math.min(RETRY_MS * 2 ** Math.min(failures, 6), MAX_RETRY_MS));
      }
    }
  }

  private async bind(): Promise<Consumer> {
    await this.parts.keeper.ensure();
    const { name, consumer } = streams.turns;
    return await this.parts.link.connection.jetstream().consumers.get(name, consumer);
  }

  /** Every message that arrives is handed over, given back or put away; none is dropped. */
  private take(message: JsMsg): void {
    if (this.stopping.signal.aborted) {
      message.nak();
      return;
    }
    const decoded = decodeWake(message.subject, message.data);
    if (decoded.kind === 'newer') {
      message.nak(NEWER_DELAY_MS);
      return;
    }
    const work = decoded.kind === 'wake' ? this.handle(message, decoded.thread) : this.putAway(message, decoded.reason);
    this.running.add(work);
    void work.finally(() => this.running.delete(work));
  }

  private async handle(message: JsMsg, thread: { readonly userId: string; readonly threadId: string }): Promise<void> {
    const { link, logger } = this.parts;
    const wake: Wake = {
      ...thread,
      redelivered: message.redelivered,
      working: () => {
        if (link.connected) message.working();
      },
      ack: () => this.acked(message),
      nak: (delayMs) => {
        if (link.connected) message.nak(delayMs);
      },
    };
    try {
      await this.options.handle(wake);
    } catch (cause) {
      logger.error({ error: cause, userId: thread.userId, threadId: thread.threadId }, 'a wake was not handled');
    }
  }

  private async acked(message: JsMsg): Promise<boolean> {
    const { link, logger } = this.parts;
    if (!link.connected) return false;
    try {
      return await message.ackAck({ timeout: ACK_TIMEOUT_MS });
    } catch (cause) {
      logger.debug({ error: cause }, 'nats: an ack was not confirmed, the wake will come again');
      return false;
    }
  }

  private async putAway(message: JsMsg, reason: string): Promise<void> {
    const { deadLetters, logger } = this.parts;
    const payload = new TextDecoder().decode(message.data).slice(0, MAX_LETTER_CHARS);
    try {
      await deadLetters.deadLetter('malformed', newId(), { subject: message.subject, payload, reason });
      message.term();
      logger.warn({ subject: message.subject, reason }, 'nats: a malformed wake went to the dead letters');
    } catch (cause) {
      logger.warn({ error: cause, subject: message.subject }, 'nats: a malformed wake could not be put away yet');
      message.nak(NEWER_DELAY_MS);
    }
  }

  private async pause(ms: number): Promise<void> {
    const jittered = ms * (0.5 + Math.random());
    await sleep(jittered, undefined, { signal: this.stopping.signal }).catch(() => undefined);
  }
}

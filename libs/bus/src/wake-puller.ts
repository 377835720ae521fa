import { newId, type WakeRole } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DeadLetters, PullOptions, Wake, WakePull } from './bus.js';
import type { Delivery } from './delivery.js';
import type { NatsLink } from './nats-link.js';
import { NextMessage } from './next-message.js';
import type { StreamKeeper } from './stream-keeper.js';
import { decodeWake } from './wake-message.js';

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
export class WakePuller implements WakePull {
  private readonly stopping = new AbortController();
  private readonly running = new Set<Promise<void>>();
  private readonly next: NextMessage;
  private recovering = false;
  private failures = 0;

  constructor(
    role: WakeRole,
    private readonly parts: PullParts,
    private readonly options: PullOptions,
  ) {
    this.next = new NextMessage(parts.link, role, {
      onMessage: (message) => {
        this.failures = 0;
        this.take(message);
        this.ask();
      },
      onNothing: () => this.ask(),
      onTrouble: (reason) => void this.recover(reason),
    });
    parts.link.closed.addEventListener('abort', () => this.next.close(), { once: true });
    parts.link.onUp(() => {
      this.next.forget();
      void this.recover();
    });
  }

  stop(): void {
    this.stopping.abort(new Error('no more wakes are pulled'));
    if (!this.next.waiting) this.next.close();
  }

  async idle(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running);
  }

  private ask(): void {
    if (this.stopping.signal.aborted) this.next.close();
    else if (!this.recovering && this.parts.link.connected && this.running.size < this.options.slots) this.next.ask();
  }

  /** Makes sure that stream and consumer stand, for as long as it takes, and goes on asking. */
  private async recover(reason?: string): Promise<void> {
    const { link, keeper } = this.parts;
    if (this.recovering) return;
    this.recovering = true;
    let problem: unknown = reason;
    while (!this.stopping.signal.aborted && !link.closed.aborted) {
      if (problem !== undefined) await this.pauseAfter(problem);
      if (!link.connected) break;
      try {
        await keeper.ensure();
        break;
      } catch (cause) {
        problem = cause;
      }
    }
    this.recovering = false;
    this.ask();
  }

  private async pauseAfter(problem: unknown): Promise<void> {
    this.failures += 1;
    const { logger, link } = this.parts;
    if (link.connected)
      logger.warn({ error: problem, attempt: this.failures }, 'nats: pulling wakes failed, trying on');
    await this.pause(Math.min(RETRY_MS * 2 ** Math.min(this.failures, 6), MAX_RETRY_MS));
  }

  /** Every message that arrives is handed over, given back or put away; none is dropped. */
  private take(message: Delivery): void {
    if (this.stopping.signal.aborted || this.running.size >= this.options.slots) {
      message.nak(0);
      return;
    }
    const decoded = decodeWake(message.subject, message.data);
    if (decoded.kind === 'newer') {
      message.nak(NEWER_DELAY_MS);
      return;
    }
    const work = decoded.kind === 'wake' ? this.handle(message, decoded.thread) : this.putAway(message, decoded.reason);
    this.running.add(work);
    void work.finally(() => {
      this.running.delete(work);
      this.ask();
    });
  }

  private async handle(
    message: Delivery,
    thread: { readonly userId: string; readonly threadId: string },
  ): Promise<void> {
    const wake: Wake = {
      ...thread,
      redelivered: message.redelivered,
      working: () => message.working(),
      ack: () => this.acked(message),
      nak: (delayMs) => message.nak(delayMs),
    };
    try {
      await this.options.handle(wake);
    } catch (cause) {
      const { userId, threadId } = thread;
      this.parts.logger.error({ error: cause, userId, threadId }, 'a wake was not handled');
    }
  }

  private async acked(message: Delivery): Promise<boolean> {
    try {
      return await message.ack(ACK_TIMEOUT_MS);
    } catch (cause) {
      this.parts.logger.debug({ error: cause }, 'nats: an ack was not confirmed, the wake will come again');
      return false;
    }
  }

  private async putAway(message: Delivery, reason: string): Promise<void> {
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

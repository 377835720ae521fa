import { newId, type WakeRole } from '@caribou/contracts';
import { type Logger, SlotSet } from '@caribou/core';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DeadLetters, PullOptions, Wake, WakePull } from '../connection/bus.js';
import type { Delivery } from '../connection/delivery.js';
import type { NatsLink } from '../connection/nats-link.js';
import { NextMessage } from './next-message.js';
import type { StreamProvisioner } from '../connection/stream-provisioner.js';
import { decodeWake } from './wake-message.js';

const ACK_TIMEOUT_MS = 2_000;
const RETRY_MS = 250;
const MAX_RETRY_MS = 5_000;
/** Milliseconds after which a malformed wake that could not be dead-lettered is delivered again. */
const MALFORMED_DELAY_MS = 5_000;
/** Number of wakes of a newer version per warning; the first one causes a warning. */
const NEWER_PER_WARNING = 100;
const MAX_LETTER_CHARS = 4_096;

interface PullParts {
  readonly link: NatsLink;
  readonly provisioner: StreamProvisioner;
  readonly deadLetters: DeadLetters;
  readonly logger: Logger;
}

/**
 * Requests one wake at a time while a handler slot is free. Prefetching would start the ack deadline of wakes that
 * nobody works on, and they would be delivered twice.
 */
export class WakePuller implements WakePull {
  private readonly stopping = new AbortController();
  private readonly running = new SlotSet<Promise<void>>();
  private readonly next: NextMessage;
  private recovering = false;
  private failures = 0;
  private newer = 0;
  /** Since when no wake can be received, on the monotonic clock. */
  private failingSinceMs: number | undefined;

  constructor(
    role: WakeRole,
    private readonly parts: PullParts,
    private readonly options: PullOptions,
  ) {
    this.failingSinceMs = parts.link.connected ? undefined : performance.now();
    this.next = new NextMessage(parts.link, role, {
      onMessage: (message) => {
        this.failures = 0;
        this.clearFailure();
        this.take(message);
        this.ask();
      },
      onTimeout: () => {
        this.clearFailure();
        this.ask();
      },
      onHeartbeat: () => this.clearFailure(),
      onError: (reason) => void this.recover(reason),
    });
    parts.link.closed.addEventListener('abort', () => this.next.close(), { once: true });
    parts.link.onDown(() => this.fails());
    parts.link.onUp(() => {
      this.next.reset();
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

  get failingMs(): number {
    return this.failingSinceMs === undefined ? 0 : performance.now() - this.failingSinceMs;
  }

  occupy(work: () => Promise<void>): boolean {
    if (this.stopping.signal.aborted || this.running.size >= this.options.slots) return false;
    this.hold(
      work().catch((cause: unknown) => {
        this.parts.logger.error({ error: cause }, 'work without a wake failed');
      }),
    );
    return true;
  }

  private fails(): void {
    this.failingSinceMs ??= performance.now();
  }

  private clearFailure(): void {
    this.failingSinceMs = undefined;
  }

  private hold(work: Promise<void>): void {
    const remove = this.running.add(work);
    this.reportSlots();
    void work.finally(() => {
      remove();
      this.reportSlots();
      this.ask();
    });
  }

  private reportSlots(): void {
    this.options.onSlots?.(this.options.slots - this.running.size);
  }

  private ask(): void {
    if (this.stopping.signal.aborted) this.next.close();
    else if (!this.recovering && this.parts.link.connected && this.running.size < this.options.slots) this.next.pull();
  }

  /** Waits until stream and consumer exist, then resumes pulling. */
  private async recover(reason?: string): Promise<void> {
    const { link, provisioner } = this.parts;
    if (this.recovering) return;
    this.recovering = true;
    let problem: unknown = reason;
    if (reason !== undefined) this.fails();
    while (!this.stopping.signal.aborted && !link.closed.aborted) {
      if (problem !== undefined) await this.pauseAfter(problem);
      if (!link.connected) break;
      try {
        await provisioner.ensure();
        // With a free slot, the next answer to a request clears the failure.
        if (this.running.size >= this.options.slots) this.clearFailure();
        break;
      } catch (cause) {
        this.fails();
        problem = cause;
      }
    }
    this.recovering = false;
    this.ask();
  }

  private async pauseAfter(problem: unknown): Promise<void> {
    this.failures += 1;
    const { logger, link } = this.parts;
    // All services start at the same time: the first check may run before the streams exist.
    const level = this.failures === 1 ? 'info' : 'warn';
    if (link.connected)
      logger[level]({ error: problem, attempt: this.failures }, 'nats: pulling wakes failed, will retry');
    await this.pause(Math.min(RETRY_MS * 2 ** Math.min(this.failures, 6), MAX_RETRY_MS));
  }

  /** Each message is handled, nacked or dead-lettered; none is dropped. */
  private take(message: Delivery): void {
    if (this.stopping.signal.aborted || this.running.size >= this.options.slots) {
      message.nak(0);
      return;
    }
    const decoded = decodeWake(message.subject, message.data);
    if (decoded.kind === 'wake' && decoded.newer) this.warnOfNewer(message.subject);
    this.hold(
      decoded.kind === 'wake' ? this.handle(message, decoded.thread) : this.deadLetter(message, decoded.reason),
    );
  }

  private warnOfNewer(subject: string): void {
    this.newer += 1;
    if (this.newer % NEWER_PER_WARNING !== 1) return;
    this.parts.logger.warn({ subject, count: this.newer }, 'nats: wakes of a newer version of Caribou are handled');
  }

  private async handle(
    message: Delivery,
    thread: { readonly userId: string; readonly threadId: string },
  ): Promise<void> {
    const wake: Wake = {
      ...thread,
      redelivered: message.redelivered,
      ack: () => this.tryAck(message),
    };
    try {
      await this.options.handle(wake);
    } catch (cause) {
      const { userId, threadId } = thread;
      this.parts.logger.error({ error: cause, userId, threadId }, 'a wake was not handled');
    }
  }

  private async tryAck(message: Delivery): Promise<boolean> {
    try {
      return await message.ack(ACK_TIMEOUT_MS);
    } catch (cause) {
      this.parts.logger.debug({ error: cause }, 'nats: an ack was not confirmed, the wake will be delivered again');
      return false;
    }
  }

  private async deadLetter(message: Delivery, reason: string): Promise<void> {
    const { deadLetters, logger } = this.parts;
    const payload = new TextDecoder().decode(message.data).slice(0, MAX_LETTER_CHARS);
    try {
      await deadLetters.deadLetter('malformed', newId(), { subject: message.subject, payload, reason });
      message.term();
      logger.warn({ subject: message.subject, reason }, 'nats: a malformed wake went to the dead letters');
    } catch (cause) {
      logger.warn(
        { error: cause, subject: message.subject },
        'nats: a malformed wake could not be dead-lettered, it will be delivered again',
      );
      message.nak(MALFORMED_DELAY_MS);
    }
  }

  private async pause(ms: number): Promise<void> {
    const jittered = ms * (0.5 + Math.random());
    await sleep(jittered, undefined, { signal: this.stopping.signal }).catch(() => undefined);
  }
}

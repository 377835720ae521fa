import { setTimeout as delay } from 'node:timers/promises';
import { AppError, ForbiddenError, InvalidRequestError, newId } from '@caribou/contracts';
import type { Logger, SafeFetch } from '@caribou/core';
import type { Metrics } from '@caribou/observability';
import type { DeliveryOutcome, OutboxStore, ThreadStore, WebhookEvent } from '@caribou/state';
import { webhookBody } from './payload.js';
import { webhookHeaders } from './signature.js';

export interface DeliveryPorts {
  readonly outbox: Pick<OutboxStore, 'take' | 'storeBody' | 'settle'>;
  readonly threads: Pick<ThreadStore, 'getRun' | 'history'>;
  readonly fetch: SafeFetch;
  readonly metrics: Pick<Metrics, 'webhookAttempted'>;
  readonly logger: Logger;
}

export interface DeliveryOptions {
  readonly maxAtOnce: number;
  readonly maxBodyBytes: number;
  /** First pause after a failed attempt; each further one is twice as long. */
  readonly retryMs: number;
  readonly secrets: readonly string[];
  /** Random number, 0 ≤ value < 1. */
  readonly random?: () => number;
}

const MAX_PAUSE_MS = 3_600_000;
const MAX_ERROR_CHARS = 300;
/** The receiver says that it wants no further event. */
const GONE = 410;
/** How long a stop waits for the deliveries that are under way. */
const STOP_MS = 5_000;

/** Delivers events that are due. What a process leaves undone when it dies is delivered by another after its lease. */
export class Deliveries {
  private readonly running = new Set<Promise<void>>();
  private readonly stopping = new AbortController();

  constructor(
    private readonly ports: DeliveryPorts,
    private readonly options: DeliveryOptions,
    /** Called when a delivery has ended, and so a slot is free. */
    private readonly onFree: () => void,
  ) {}

  /** Begins deliveries in all free slots. Returns ms until more is due; null: a slot has to become free, or nothing is. */
  async tick(): Promise<number | null> {
    const free = this.options.maxAtOnce - this.running.size;
    if (free <= 0) return null;
    const token = newId();
    const { events, waitMs, nowMs } = await this.ports.outbox.take(free, token);
    for (const event of events) this.begin(this.deliver(event, { token, nowMs }));
    return waitMs;
  }

  /** Waits for the deliveries under way, and ends those that take too long. */
  async stop(): Promise<void> {
    const timer = new AbortController();
    const late = delay(STOP_MS, undefined, { signal: timer.signal }).catch(() => undefined);
    await Promise.race([Promise.allSettled(this.running), late]);
    timer.abort();
    this.stopping.abort(new Error('the gateway is stopping'));
  }

  private begin(delivery: Promise<void>): void {
    const tracked = delivery.finally(() => {
      this.running.delete(tracked);
      this.onFree();
    });
    this.running.add(tracked);
  }

  /** Makes one attempt and enters its outcome. Never rejects: a lease that is not settled lapses. */
  private async deliver(event: WebhookEvent, lease: Lease): Promise<void> {
    const { outbox, metrics, logger } = this.ports;
    const { userId, threadId, eventId: runId } = event;
    const beganMs = performance.now();
    try {
      const outcome = await this.attempt(event, lease);
      if (outcome === null) return;
      const settled = await outbox.settle(event, lease.token, outcome);
      metrics.webhookAttempted(settled, performance.now() - beganMs);
      const fields = {
        event: 'webhook.deliver',
        outcome: settled === 'delivered' ? 'ok' : 'error',
        userId,
        threadId,
        runId,
      };
      const reason = outcome.kind === 'delivered' ? settled : outcome.error;
      logger.info({ ...fields, reason, attempt: event.attempts + 1 }, 'an event was sent to its webhook');
    } catch (error) {
      const fields = { event: 'webhook.deliver', outcome: 'error', userId, threadId, runId, error };
      logger.warn(fields, 'the outcome of a delivery could not be entered; it is repeated');
    }
  }

  /** Sends the event once; null: the lease is lost, nothing was sent. */
  private async attempt(event: WebhookEvent, { token, nowMs }: Lease): Promise<DeliveryOutcome | null> {
    const { outbox, threads, fetch } = this.ports;
    const { maxBodyBytes, secrets } = this.options;
    try {
      const draft = event.body ?? (await webhookBody(threads, event, { maxBytes: maxBodyBytes, sentAtMs: nowMs }));
      const body = await outbox.storeBody(event, token, draft);
      if (body === null) return null;
      const signed = { eventId: event.eventId, timestamp: Math.floor(nowMs / 1_000), body };
      const headers = { 'content-type': 'application/json', 'user-agent': 'caribou-webhook' };
      const response = await fetch(event.url, {
        method: 'POST',
        headers: { ...headers, ...webhookHeaders(signed, secrets) },
        body,
        signal: this.stopping.signal,
      });
      await response.body?.cancel();
      if (response.ok) return { kind: 'delivered' };
      return this.failure(event, `HTTP ${response.status}`, response.status === GONE);
    } catch (error) {
      if (!(error instanceof AppError) || !error.expected) throw error;
      return this.failure(
        event,
        error.message,
        error instanceof ForbiddenError || error instanceof InvalidRequestError,
      );
    }
  }

  private failure({ attempts }: WebhookEvent, text: string, isFinal: boolean): DeliveryOutcome {
    const { retryMs, random = Math.random } = this.options;
    const error = text.slice(0, MAX_ERROR_CHARS);
    if (isFinal) return { kind: 'failed', error };
    const pauseMs = Math.min(MAX_PAUSE_MS, retryMs * 2 ** Math.min(attempts, 30));
    return { kind: 'retry', error, delayMs: Math.round(pauseMs * (0.75 + random() / 2)) };
  }
}

interface Lease {
  readonly token: string;
  /** When it was taken, by the clock of the store. */
  readonly nowMs: number;
}

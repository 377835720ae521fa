import type { SetQuery } from './cron-store.js';
import type { AdminLine } from './admission.js';

/** The end of a run that its webhook gets. */
export interface WebhookEvent {
  readonly userId: string;
  /** The id of the run, which ends once. */
  readonly eventId: string;
  readonly threadId: string;
  readonly assistantId: string;
  readonly url: string;
  readonly status: string;
  readonly createdAt: string;
  /** When the run was claimed for the first time; null: never. */
  readonly startedAt: string | null;
  readonly endedAt: string;
  /** Attempts that failed. */
  readonly attempts: number;
  /** What earlier attempts have sent; null before the first. */
  readonly body: string | null;
}

export interface TakenEvents {
  /** The clock of the store. */
  readonly nowMs: number;
  /** Until the next attempt is due; null: none is. */
  readonly waitMs: number | null;
  readonly events: readonly WebhookEvent[];
}

/** An event that was given up. */
export interface FailedEvent {
  readonly event_id: string;
  readonly url: string;
  readonly thread_id: string;
  readonly status: string;
  readonly ended_at: string;
  readonly attempts: number;
  readonly error: string;
  readonly failed_at: string;
}

/** An event that waits, as its user sees it. */
export interface WaitingEvent {
  readonly event_id: string;
  readonly url: string;
  readonly thread_id: string;
  readonly status: string;
  readonly ended_at: string;
  readonly attempts: number;
  /** Why the last attempt failed. */
  readonly error: string | null;
  readonly next_attempt_at: string;
}

/** A waiting event and its user. */
export interface UserEvent extends WaitingEvent {
  readonly user_id: string;
}

export type DeliveryOutcome =
  | { readonly kind: 'delivered' }
  /** `delayMs`: until the next attempt; an event that is older than its limit by then is given up. */
  | { readonly kind: 'retry'; readonly error: string; readonly delayMs: number }
  | { readonly kind: 'failed'; readonly error: string };

export interface OutboxLimits {
  /** Deliveries of one user at once, of all processes. */
  readonly perUser: number;
  /** Deliveries to one host at once, of all processes. */
  readonly perHost: number;
  /** Longer than an attempt takes: after it another process may deliver the event. */
  readonly leaseMs: number;
  /** After which an event is given up, in ms since it was written. */
  readonly maxAgeMs: number;
  /** Events of a user that were given up and are listed. */
  readonly maxFailed: number;
}

/**
 * Events that the ends of runs have written. An event is taken under a lease, so it is delivered at least once: a process that
 * dies between the receiver's answer and `settle` leaves it to the next. All methods throw UnavailableError when Redis does
 * not answer in time.
 */
export interface OutboxStore {
  take(limit: number, token: string): Promise<TakenEvents>;
  /** Stores the body of the first attempt. Returns the stored one; null: the lease is lost. */
  storeBody(event: WebhookEvent, token: string, body: string): Promise<string | null>;
  /** `lost`: the lease lapsed, and the event is another process's. */
  settle(event: WebhookEvent, token: string, outcome: DeliveryOutcome): Promise<DeliveryOutcome['kind'] | 'lost'>;
  /** The user's events that wait, the next one first, and those that were given up, newest first. */
  list(userId: string): Promise<{ readonly waiting: readonly WaitingEvent[]; readonly failed: readonly FailedEvent[] }>;
  /** Events of all users that wait, oldest first. @throws {InvalidRequestError} for an invalid cursor */
  page(query: SetQuery): Promise<{ readonly events: readonly UserEvent[]; readonly nextCursor: string | null }>;
  /** Makes the next attempt due now. `busy`: one is under way. */
  hasten(userId: string, eventId: string, line: AdminLine): Promise<'ok' | 'none' | 'busy'>;
  /** Removes all events of a user. */
  removeAll(userId: string): Promise<void>;
}

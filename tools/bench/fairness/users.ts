import { median, quantile } from '../sample.js';

/** The user with little work, beside those with much. */
export const QUIET_USER = 'quiet';
/** Users with much work. */
export const BUSY_USERS = 10;

export const busyUser = (index: number): string => `busy${index}`;

/** The API key of a user. */
export const keyOf = (user: string): string => `key-of-the-user-${user}`;

/** The variable CARIBOU_API_KEYS for the user with little work and so many with much. */
export const apiKeys = (busy = BUSY_USERS): string =>
  [QUIET_USER, ...Array.from({ length: busy }, (_, index) => busyUser(index))]
    .map((user) => `${keyOf(user)}:${user}`)
    .join(',');

/** What the user with little work waits. */
export interface WorkShares {
  /** Work of the others at first. */
  readonly waiting: number;
  /** How often the user waited. */
  readonly waits: number;
  readonly waitMs: { readonly p50: number; readonly p99: number };
  /** The time in which as many slots become free as there are users, in milliseconds. */
  readonly shareMs: number;
}

/** @param ended work of all users that ended within `elapsedMs` */
export const workShares = (
  waiting: number,
  waits: readonly number[],
  {
    ended,
    elapsedMs,
    users = BUSY_USERS + 1,
  }: { readonly ended: number; readonly elapsedMs: number; readonly users?: number },
): WorkShares => ({
  waiting,
  waits: waits.length,
  waitMs: { p50: median(waits), p99: quantile(waits, 0.99) },
  shareMs: (users * elapsedMs) / ended,
});

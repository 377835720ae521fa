import { FencedError, TooLargeError } from '@caribou/contracts';
import type { RunLease, RunStore } from '../ports/run-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import type { StoreSettings } from '../redis/store-settings.js';
import { logEntries } from './log-entries.js';
import { numberEvents } from './number-events.js';

const script = loadScript('events/append');

/** Creates the function that appends events to the log of the run that a lease is for. */
export function eventAppender(redis: RedisConnection, settings: StoreSettings): RunStore['append'] {
  return async (lease, events, { openMessageId, dropped = [], after } = {}) => {
    const { lease: leaseKey, owner } = redis.keys.thread(lease);
    const runKey = `${redis.keys.runPrefix(lease.userId)}${lease.runId}`;
    const keys = [leaseKey, owner, runKey, redis.keys.runEvents(lease.userId, lease.runId)];
    const reply = (await redis.run(script, keys, [
      `${lease.ownerId}:${lease.epoch}`,
      settings.leaseMs,
      after ?? '',
      settings.maxLogBytes,
      openParameter(openMessageId),
      dropped.map((id) => JSON.stringify(id)).join(','),
      ...logEntries(events, settings).flatMap((entry) => [entry.events, entry.text]),
    ])) as readonly [outcome: string, value: unknown];
    if (reply[0] === 'fenced') throw fencedError(lease, reply[1]);
    if (reply[0] === 'too_large') {
      const details = { limitBytes: 2 * settings.maxLogBytes };
      throw new TooLargeError('the event log of the run is full', { details });
    }
    return numberEvents(reply[1], events);
  };
}

function openParameter(id: string | null | undefined): string {
  if (id === undefined) return '-';
  return id === null ? '' : JSON.stringify(id);
}

const fencedError = (lease: RunLease, reason: unknown): FencedError =>
  new FencedError('the run is not owned by this writer', {
    details: { reason, runId: lease.runId, threadId: lease.threadId },
  });

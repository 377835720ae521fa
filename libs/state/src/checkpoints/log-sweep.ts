import type { ThreadKey } from '@caribou/core';
import type { RedisConnection } from '../redis/connection.js';
import { entriesOf, type HeadLog } from './head-log.js';
import { isRow, parseRow } from '../threads/feed-rows.js';
import { parseCheckpoint } from './checkpoint-text.js';

/** Unreferenced log fields, for the next commit to free, and how many fields outside the head remain. */
export interface Sweep {
  readonly free: readonly string[];
  readonly left: number;
}

/** A log is swept once it holds this many fields more that its head does not show than twice those left by the last sweep. */
const SWEEP_ABOVE = 256;
/** Maximum number of fields freed by one commit. */
const MAX_FREED = 1000;

/** Whether enough of the log is outside the head to justify reading every checkpoint; doubling keeps the cost per step flat. */
export const isSweepDue = (log: HeadLog): boolean => log.unshown > SWEEP_ABOVE + 2 * log.counters.swept;

/**
 * Finds log fields that no stored checkpoint and no feed row refers to. This is safe for the owner of the head of `log`: the
 * commit that frees them expects that head, so no checkpoint was added since, and unreferenced entries are never used again.
 */
export async function sweepLog(redis: RedisConnection, thread: ThreadKey, log: HeadLog): Promise<Sweep> {
  const keys = redis.keys.thread(thread);
  const [texts, fields, feed] = await redis.use((client) =>
    Promise.all([client.hgetall(keys.checkpoints), client.hkeys(keys.log), client.hvals(keys.feed)]),
  );
  const shown = new Set(feed.flatMap(entriesOfRow));
  for (const [id, text] of Object.entries(texts)) {
    const checkpoint = parseCheckpoint(id, text);
    for (const entry of entriesOf(checkpoint.ranges)) shown.add(String(entry));
    for (const entry of Object.values(checkpoint.channels)) shown.add(`c${entry}`);
  }
  const unshown = fields.filter((field) => !shown.has(field) && isOld(field, log));
  const free = unshown.slice(0, MAX_FREED);
  return { free, left: Math.max(log.unshown - free.length, 0) };
}

/** Includes hidden rows, as a rollback may show them again. Other fields of a feed hold numbers. */
function entriesOfRow(text: string): string[] {
  return isRow(text) ? parseRow(text).entries.map(String) : [];
}

/** Whether a field was written before `log` was read. */
function isOld(field: string, { counters }: HeadLog): boolean {
  return field.startsWith('c') ? Number(field.slice(1)) < counters.nextValue : Number(field) < counters.nextEntry;
}

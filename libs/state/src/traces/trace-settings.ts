import type { RedisConnection } from '../redis/connection.js';
import type { TraceSettings } from '../redis/store-settings.js';
import { WrittenTexts } from './written-texts.js';

export interface TraceOptions {
  readonly enabled: boolean;
  readonly retentionMs: number;
}

/**
 * How a process writes traces; undefined when none are to be stored.
 *
 * @param redis the part of the store that holds the threads of users, also for the process of tasks
 */
export const traceSettings = (
  { keys }: Pick<RedisConnection, 'keys'>,
  { enabled, retentionMs }: TraceOptions,
  process: string,
): TraceSettings | undefined =>
  enabled
    ? { retentionMs, process, textKeys: (userId) => keys.traceTexts(userId), written: new WrittenTexts() }
    : undefined;

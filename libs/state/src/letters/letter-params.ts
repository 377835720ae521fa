import type { DeadLetterTopic } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { DeadLetter } from '../ports/run-store.js';
import type { RedisConnection } from '../redis/connection.js';

/** Maximum number of dead letters that are listed, and as many of tasks; above it the oldest is removed. */
export const MAX_LETTERS = 1_000;
/** How long what was asked of a run with a dead letter is stored, so that it can be admitted again: a week. */
export const LETTER_KWARGS_MS = 7 * 86_400_000;
/** Maximum length of what is recorded of a run that was given up. */
const MAX_DETAIL_CHARS = 4_000;

/** The id of a letter names its work, so that the same work has one letter. */
export const letterId = (kind: DeadLetterTopic, ...ids: readonly string[]): string => [kind, ...ids].join('.');

/** The parameter `letters` of scripts that add a letter (`letters/letters.lua`). */
export const letterParams = ({ keys }: RedisConnection) => ({ ...keys.letters, max: MAX_LETTERS });

/**
 * The letter of a run that ended without having been carried out; of a task in the part of the store that has tasks.
 *
 * @param isLost what was asked could not be read, so that the run cannot be admitted again
 */
export function runLetter(
  redis: RedisConnection,
  { userId, threadId }: ThreadKey,
  { id, entry }: DeadLetter,
  isLost: boolean,
) {
  const kind = redis.keys.erasing === undefined ? 'task' : 'run';
  const text = JSON.stringify({
    kind,
    user_id: userId,
    thread_id: threadId,
    run_id: id,
    reason: reasonOf(entry),
    ...(isLost ? { is_lost: true } : {}),
    detail: JSON.stringify(entry).slice(0, MAX_DETAIL_CHARS),
  });
  return { ...letterParams(redis), id: letterId(kind, userId, id), text };
}

function reasonOf({ error }: DeadLetter['entry']): string {
  if (typeof error !== 'object' || error === null || !('message' in error)) return '';
  return String(error.message).slice(0, MAX_DETAIL_CHARS);
}

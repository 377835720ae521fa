import { ConflictError, type GoalState } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { ThreadStore } from '../ports/thread-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import { callThread } from '../redis/thread-call.js';
import { assertAllowed } from './thread-records.js';
import { goalChangeText } from '../goals/goal-change.js';

const script = loadScript('threads/change-goal');

/** How often a run may begin or end between the two ways to write a goal. */
const MAX_ATTEMPTS = 5;

/**
 * Sets the goal of a thread, or removes it with null: by an update of the state, or, while a run is in flight, as a change
 * that the run makes.
 *
 * @throws {NotFoundError} for an unknown thread; ConflictError when its runs begin and end all the time
 */
export async function changeGoal(
  redis: RedisConnection,
  { updateState }: Pick<ThreadStore, 'updateState'>,
  thread: ThreadKey,
  goal: GoalState | null,
): Promise<void> {
  let refusal: unknown;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const reply = await callThread(redis, thread, script, { params: {}, texts: [goalChangeText(goal)] });
    assertAllowed(reply, thread.threadId);
    if (reply[0] === 'ok') return;
    try {
      await updateState(thread, { goal }, { setsGoal: true });
      return;
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      refusal = error;
    }
  }
  throw refusal;
}

import { type Message, NotFoundError, type RunRecord } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { RedisConnection, ThreadStore } from '@caribou/state';
import type { History } from '../world/history.js';

interface Stores {
  readonly threads: Pick<ThreadStore, 'getRun'>;
  readonly redis: RedisConnection;
}

/**
 * Each message that was given to a run is in the transcript once, in the order of acceptance; or it waits for the next run, as
 * its own did not succeed; or it was rolled back with a run.
 */
export async function findLostMessages(
  history: History,
  thread: ThreadKey,
  messages: readonly Message[],
  stores: Stores,
): Promise<readonly string[]> {
  const given = history.given.get(thread.threadId) ?? [];
  const shown = messages.filter(({ id }) => given.includes(id)).map(({ id }) => id);
  const expected = given.filter((id) => shown.includes(id));
  const found: string[] = [];
  if (shown.join() !== expected.join())
    found.push(`thread ${thread.threadId}: given ${expected.join()}, in the transcript ${shown.join()}`);
  const waiting = await readWaiting(thread, stores.redis);
  const wasRolledBack = [...history.rolledBack].some(
    (runId) => history.accepted.get(runId)?.threadId === thread.threadId,
  );
  for (const id of given) {
    const runId = waiting.get(id);
    if (runId !== undefined && shown.includes(id)) found.push(`message ${id} waits and is in the transcript`);
    if (runId === undefined && !shown.includes(id) && !wasRolledBack) found.push(`message ${id} is lost`);
    if (runId !== undefined && (await statusOf(thread, runId, stores)) === 'success')
      found.push(`message ${id} waits for run ${runId}, which succeeded without it`);
  }
  return found;
}

/** The run that each waiting message was given to. */
async function readWaiting(thread: ThreadKey, redis: RedisConnection): Promise<ReadonlyMap<string, string>> {
  const texts = await redis.use((client) => client.lrange(redis.keys.steering(thread), 0, -1));
  return new Map(
    texts.map((text) => {
      const [runId = '', hash = ''] = text.split(':', 2);
      const { id } = JSON.parse(text.slice(runId.length + hash.length + 2)) as Message;
      return [id, runId];
    }),
  );
}

async function statusOf(thread: ThreadKey, runId: string, { threads }: Stores): Promise<RunRecord['status'] | null> {
  try {
    return (await threads.getRun(thread, runId)).status;
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}

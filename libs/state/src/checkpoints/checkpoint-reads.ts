import { type CheckpointView, NotFoundError } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { ThreadHead } from '../ports/run-store.js';
import type { CheckpointsOfRun, HistoryQuery, ThreadStore } from '../ports/thread-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { containsAll } from '../threads/containment.js';
import { loadScript } from '../redis/scripts.js';
import { parseCheckpoint, type StoredCheckpoint } from './checkpoint-text.js';
import { headOf, parseLoadReply, type LoadedCheckpoints, viewOf } from './stored-checkpoint.js';
import type { StoreSettings } from '../redis/store-settings.js';
import { callThread } from '../redis/thread-call.js';

const script = loadScript('checkpoints/read-checkpoints');

/** Checkpoint records read in one round trip while filtering a history. */
const PAGE = 100;
/** Size of the states of one page of a history, as JSON; a page has one state at least. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
/** Maximum number of checkpoints read for one history. */
const MAX_SCANNED = 10_000;

interface ReadOptions {
  /** The checkpoints to read; absent: the head. */
  readonly ids?: readonly string[];
  /** Whether to read a temporary thread that has ended, too. */
  readonly ended?: boolean;
  /** What the reader has of the thread already. */
  readonly known?: ThreadHead | undefined;
  /** Size of the states after which the rest of the ids is left out; the first is always read. */
  readonly maxBytes?: number;
}

/** @throws {NotFoundError} for an unknown thread */
export async function readCheckpoints(
  redis: RedisConnection,
  thread: ThreadKey,
  options: ReadOptions,
): Promise<LoadedCheckpoints> {
  const { maxBytes, known, ...params } = options;
  const knownId = known?.checkpointId ?? undefined;
  const reply = await callThread(redis, thread, script, {
    params: { ...params, max_bytes: maxBytes, known: knownId },
  });
  if (reply[0] === 'no_thread') {
    throw new NotFoundError(`Thread ${thread.threadId} does not exist`, { details: { threadId: thread.threadId } });
  }
  return parseLoadReply(reply[1], options);
}

/** @throws {NotFoundError} for an unknown checkpoint */
export function requireCheckpoint(
  checkpoint: StoredCheckpoint | null | undefined,
  checkpointId: string,
): StoredCheckpoint {
  if (checkpoint !== null && checkpoint !== undefined) return checkpoint;
  throw new NotFoundError(`Checkpoint ${checkpointId} does not exist`, { details: { checkpointId } });
}

export function checkpointReads(
  redis: RedisConnection,
  { heads }: Pick<StoreSettings, 'heads'>,
): Pick<ThreadStore, 'head' | 'checkpoint' | 'history' | 'checkpointsOfRun'> {
  /** Views a checkpoint, whose state is the one that the thread's next reader will have. */
  function view(thread: ThreadKey, loaded: LoadedCheckpoints, checkpoint: StoredCheckpoint): CheckpointView {
    heads?.set(thread, headOf(loaded, checkpoint));
    return viewOf(loaded, checkpoint);
  }

  async function head(thread: ThreadKey): Promise<CheckpointView | null> {
    const loaded = await readCheckpoints(redis, thread, { ended: true, known: heads?.get(thread) });
    const [checkpoint] = loaded.checkpoints;
    return checkpoint === null || checkpoint === undefined ? null : view(thread, loaded, checkpoint);
  }

  async function checkpoint(thread: ThreadKey, checkpointId: string): Promise<CheckpointView> {
    const loaded = await readCheckpoints(redis, thread, {
      ids: [checkpointId],
      ended: true,
      known: heads?.get(thread),
    });
    return view(thread, loaded, requireCheckpoint(loaded.checkpoints[0], checkpointId));
  }

  /** Ids of the checkpoints that match, newest first. */
  async function matching(thread: ThreadKey, { limit, before, metadata }: HistoryQuery): Promise<string[]> {
    const keys = redis.keys.thread(thread);
    const ids: string[] = [];
    let below = before === undefined ? '+' : `(${before}`;
    for (let scanned = 0; scanned < MAX_SCANNED && ids.length < limit; scanned += PAGE) {
      const page = await redis.use((client) => client.zrevrangebylex(keys.order, below, '-', 'LIMIT', 0, PAGE));
      ids.push(...(metadata === undefined ? page : await filterByMetadata(keys.checkpoints, page, metadata)));
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) break;
      below = `(${last}`;
    }
    return ids.slice(0, limit);
  }

  async function filterByMetadata(
    key: string,
    ids: readonly string[],
    metadata: Readonly<Record<string, unknown>>,
  ): Promise<string[]> {
    if (ids.length === 0) return [];
    const texts = await redis.use((client) => client.hmget(key, ...ids));
    return ids.filter((id, index) => {
      const text = texts[index];
      return typeof text === 'string' && containsAll(parseCheckpoint(id, text).metadata, metadata);
    });
  }

  async function history(thread: ThreadKey, query: HistoryQuery): Promise<readonly CheckpointView[]> {
    const ids = await matching(thread, query);
    const loaded = await readCheckpoints(redis, thread, { ids, maxBytes: MAX_PAGE_BYTES, known: heads?.get(thread) });
    return loaded.checkpoints.flatMap((found) => (found === null ? [] : [viewOf(loaded, found)]));
  }

  async function checkpointsOfRun(thread: ThreadKey, runId: string): Promise<CheckpointsOfRun | null> {
    const ids = await matching(thread, { limit: MAX_SCANNED, metadata: { run_id: runId } });
    const [last, first] = [ids[0], ids.at(-1)];
    if (last === undefined || first === undefined) return null;
    const text = await redis.use((client) => client.hget(redis.keys.thread(thread).checkpoints, first));
    if (text === null) return null;
    const { parent, metadata } = parseCheckpoint(first, text);
    return { first: { checkpointId: first, parentId: parent, source: metadata.source }, last };
  }

  return { head, checkpoint, history, checkpointsOfRun };
}

import { ConflictError, type CheckpointView, type NextNode, type ThreadState, TooLargeError } from '@caribou/contracts';
import { applyUpdate, clientUpdate, type ThreadKey, withGoalOf } from '@caribou/core';
import { type ThreadHead } from '../ports/run-store.js';
import { type ThreadStore } from '../ports/thread-store.js';
import { readCheckpoints, requireCheckpoint } from './checkpoint-reads.js';
import { type CheckpointDraft, checkpointCall } from './commit-call.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import type { StoreSettings } from '../redis/store-settings.js';
import { headOf, toShownState } from './stored-checkpoint.js';
import { callThread } from '../redis/thread-call.js';
import { assertAllowed } from '../threads/thread-records.js';

const script = loadScript('checkpoints/update-state');

/** After a lost race the other update is read, and this one is based on it. */
const MAX_ATTEMPTS = 5;

export const stateTooLarge = ({ maxStateBytes }: StoreSettings): TooLargeError =>
  new TooLargeError(
    `the state of this thread would be larger than ${maxStateBytes} bytes (quotas.max_state_bytes): use another thread`,
    { details: { limitBytes: maxStateBytes } },
  );

type Update = Parameters<ThreadStore['updateState']>[1];

async function readTime(redis: RedisConnection): Promise<string> {
  const [seconds, microseconds] = await redis.use((client) => client.time());
  return new Date(Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000)).toISOString();
}

/** Ids of messages that the state before the update has and the one after it has not. */
function removedIds({ from, state }: CheckpointDraft): string[] {
  const left = new Set(state.messages.map(({ id }) => id));
  return from.state.messages.flatMap(({ id }) => (left.has(id) ? [] : [id]));
}

interface UpdateOptions {
  readonly checkpointId?: string;
  readonly asNode?: string;
  readonly keepsTimeline?: boolean;
  readonly setsGoal?: boolean;
}

export function stateUpdates(redis: RedisConnection, settings: StoreSettings): Pick<ThreadStore, 'updateState'> {
  async function draft(thread: ThreadKey, update: Update, options: UpdateOptions): Promise<CheckpointDraft> {
    const { head, from } = await readBase(thread, options.checkpointId);
    const asked = typeof update === 'function' ? update(from.state, await readTime(redis)) : update;
    const base = from === head ? from.state : withGoalOf(head.state, from.state);
    const state = applyUpdate(base, clientUpdate(base, asked));
    return {
      head,
      from,
      state,
      next: nextAfter(options.asNode, state) ?? from.next,
      metadata: { source: 'update', step: (from.metadata?.step ?? -1) + 1 },
    };
  }

  /** Reads the head and the checkpoint to build on, which is the head unless an older one is named. */
  async function readBase(
    thread: ThreadKey,
    checkpointId: string | undefined,
  ): Promise<{ head: ThreadHead; from: ThreadHead }> {
    const loaded = await readCheckpoints(redis, thread, {});
    const head = headOf(loaded, loaded.checkpoints[0] ?? null);
    if (checkpointId === undefined || checkpointId === loaded.headId) return { head, from: head };
    const older = await readCheckpoints(redis, thread, { ids: [checkpointId] });
    return { head, from: headOf(older, requireCheckpoint(older.checkpoints[0], checkpointId)) };
  }

  return {
    updateState: async (thread, update, options = {}) => {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
        const made = await draft(thread, update, options);
        const call = await checkpointCall(made, null, settings);
        const reply = await callThread(redis, thread, script, {
          params: {
            commit: call.params,
            kept_checkpoints: settings.keptCheckpoints,
            from: made.from.checkpointId ?? '',
            max_state_bytes: settings.maxStateBytes,
            added_bytes: call.bytes,
            removed: options.keepsTimeline === true ? [] : removedIds(made),
            sets_goal: options.setsGoal,
          },
          texts: call.texts,
        });
        assertAllowed(reply, thread.threadId);
        if (reply[0] === 'large') throw stateTooLarge(settings);
        if (reply[0] === 'ok') return viewAfter(made, String(reply[1]), String(reply[2]));
      }
      throw new ConflictError('other requests are changing the thread at the same time', {
        details: { threadId: thread.threadId },
      });
    },
  };
}

const viewAfter = (draft: CheckpointDraft, checkpointId: string, createdAt: string): CheckpointView => ({
  checkpointId,
  parentId: draft.from.checkpointId,
  createdAt,
  metadata: draft.metadata,
  next: draft.next,
  state: toShownState(draft.state),
});

/**
 * The node at which the loop would continue if the named node had written the update; undefined leaves it unchanged. The
 * names are those of LangChain's agent graph.
 */
function nextAfter(asNode: string | undefined, state: ThreadState): readonly NextNode[] | undefined {
  switch (asNode) {
    case '__end__':
      return [];
    case '__start__':
    case 'tools':
      return ['model_request'];
    case 'model_request':
      return hasToolCalls(state) ? ['tools'] : [];
    default:
      return undefined;
  }
}

function hasToolCalls(state: ThreadState): boolean {
  const last = state.messages.at(-1);
  return last?.type === 'ai' && last.tool_calls.length > 0;
}

import {
  ConflictError,
  NotFoundError,
  type RunRecord,
  TASK_METADATA,
  taskIds,
  TaskSpec,
  omitUndefined,
} from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { AdmitRequest } from '../ports/run-store.js';
import type { FeedRow } from '../ports/thread-store.js';
import type { NewTask, TaskStore } from '../ports/task-store.js';
import { admissions } from '../runs/admission.js';
import { checkpointReads } from '../checkpoints/checkpoint-reads.js';
import type { RedisConnection } from '../redis/connection.js';
import { runRecords } from '../runs/run-records.js';
import { storeSettings } from '../redis/store-settings.js';
import { threadFeed } from '../threads/thread-feed.js';
import { threadRecords } from '../threads/thread-records.js';

export interface TaskStoreOptions {
  /** Tasks of one user that may be running or waiting. */
  readonly maxPendingPerUser: number;
  /** Tasks of all users that may be running or waiting. */
  readonly maxPending: number;
  /** How long the log and state of a task stay readable after its end. */
  readonly keptMs: number;
}

const MAX_LISTED = 1_000;
/** Maximum number of feed rows read of a task: more than its turns can make. */
const MAX_PAGES = 20;
const PAGE_ROWS = 200;
/** A task waits for at most a day and takes at most a day; the rest is a margin for its end. */
const MAX_LIFE_MS = 49 * 3_600_000;

/** The part of the store that holds only tasks. */
export const taskPart = (redis: RedisConnection): RedisConnection => redis.part('tasks');

/** @param redis the part that holds tasks */
export function redisTaskStore(redis: RedisConnection, options: TaskStoreOptions): TaskStore {
  const settings = storeSettings({
    maxInFlightRuns: options.maxPendingPerUser,
    maxPending: options.maxPending,
    eventsTtlMs: options.keptMs,
  });
  const { admit, requestCancel } = admissions(redis, settings);
  const { getRun } = runRecords(redis);
  const { head } = checkpointReads(redis, settings);
  const { deleteThread } = threadRecords(redis, settings);
  const { readFeed } = threadFeed(redis, '1');

  /** Enters the task in its parent's list before it is created, so that none is missing; the entry outlives the task. */
  async function enter(parent: ThreadKey, threadId: string): Promise<void> {
    const key = redis.keys.childThreads(parent);
    await redis.use((client) =>
      client
        .multi()
        .zadd(key, 'NX', Date.now(), threadId)
        .zremrangebyrank(key, 0, -MAX_LISTED - 1)
        .pexpire(key, MAX_LIFE_MS + options.keptMs)
        .exec(),
    );
  }

  async function dispatch(task: NewTask): Promise<RunRecord> {
    const request = admissionOf(task);
    const parent = { userId: task.userId, threadId: task.spec.parent.thread_id };
    await enter(parent, request.threadId);
    const { run, repeated } = await admit(request);
    if (repeated && specOf(run)?.args_hash !== task.spec.args_hash) {
      throw new ConflictError('this tool call has already delegated another task', { details: { runId: run.run_id } });
    }
    return run;
  }

  const find: TaskStore['find'] = async ({ userId, parentRunId, toolCallId }) => {
    const { threadId, runId } = taskIds(parentRunId, toolCallId);
    return orNull(getRun({ userId, threadId }, runId));
  };

  /** A task's thread has one run, and it is found by the thread. */
  async function runOfThread(thread: ThreadKey): Promise<RunRecord | null> {
    const [runId] = await redis.use((client) => client.zrange(redis.keys.thread(thread).runs, 0, 0));
    return runId === undefined ? null : orNull(getRun(thread, runId));
  }

  async function newestRows(thread: ThreadKey): Promise<readonly FeedRow[]> {
    let rows: readonly FeedRow[] = [];
    for (let page = 0, before = 0; page < MAX_PAGES; page += 1) {
      const { rows: more, nextBefore } = await readFeed(thread, { limit: PAGE_ROWS, before });
      rows = [...more, ...rows];
      if (nextBefore === null) break;
      before = nextBefore;
    }
    return rows;
  }

  const forget = (task: ThreadKey): Promise<void> => ignoreIfGone(deleteThread(task, { ended: true }));

  const threadsOf = (parent: ThreadKey): Promise<string[]> =>
    redis.use((client) => client.zrange(redis.keys.childThreads(parent), 0, MAX_LISTED - 1));

  return {
    dispatch,
    find,
    threadOf: ({ userId, parentRunId, toolCallId }) => ({
      userId,
      threadId: taskIds(parentRunId, toolCallId).threadId,
    }),
    head: (run) => head(keyOf(run)),
    steps: (run) => orNull(newestRows(keyOf(run))),
    cancel: (run) => requestCancel(keyOf(run), run.run_id, 'interrupt'),
    tasksOf: async (parent) => {
      const threads = await threadsOf(parent);
      const runs = await Promise.all(threads.map((threadId) => runOfThread({ userId: parent.userId, threadId })));
      return runs.filter((run) => run !== null);
    },
    forget,
    forgetTasksOf: async (parent) => {
      for (const threadId of await threadsOf(parent)) {
        await forget({ userId: parent.userId, threadId });
      }
      await redis.use((client) => client.unlink(redis.keys.childThreads(parent)));
    },
  };
}

/** The spec that a task's record carries; undefined when another version wrote it. */
const specOf = (run: RunRecord): TaskSpec | undefined => TaskSpec.safeParse(run.metadata[TASK_METADATA]).data;

const keyOf = (run: RunRecord): ThreadKey => ({ userId: run.user_id, threadId: run.thread_id });

function admissionOf({ userId, spec, prompt, maxTurns, timeoutMs, traceparent, apiKey }: NewTask): AdmitRequest {
  return {
    userId,
    ...taskIds(spec.parent.run_id, spec.parent.tool_call_id),
    assistantId: spec.subagent_type,
    metadata: { [TASK_METADATA]: spec },
    kwargs: {
      input: { messages: [prompt] },
      context: {
        ...{ model_name: spec.model, thinking_enabled: false, non_interactive: true },
        ...omitUndefined({ temperature: spec.temperature }),
      },
      recursion_limit: maxTurns,
      stream_mode: [],
      stream_subgraphs: false,
      on_disconnect: 'continue',
      temporary: true,
      timeout_ms: timeoutMs,
    },
    multitaskStrategy: 'reject',
    ifNotExists: 'create',
    threadMetadata: {},
    ...omitUndefined({ traceparent, apiKey }),
  };
}

async function orNull<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}

/** A task that was removed already, or that is running, is not a failure of its removal. */
async function ignoreIfGone(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof NotFoundError || error instanceof ConflictError)) throw error;
  }
}

import {
  ConflictError,
  continuationId,
  NotFoundError,
  type RunRecord,
  TASK_METADATA,
  taskIds,
  TaskSpec,
  omitUndefined,
} from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { AdmitRequest } from '../ports/admission.js';
import type { FeedRow } from '../ports/thread-store.js';
import type { NewTask, TaskAnswers, TaskStore } from '../ports/task-store.js';
import { admissions } from '../runs/admission.js';
import { checkpointReads } from '../checkpoints/checkpoint-reads.js';
import type { RedisConnection } from '../redis/connection.js';
import { runRecords } from '../runs/run-records.js';
import { storeSettings, type TraceSettings } from '../redis/store-settings.js';
import { threadFeed } from '../threads/thread-feed.js';
import { threadRecords } from '../threads/thread-records.js';
import { taskList } from './task-list.js';

export interface TaskStoreOptions {
  /** Tasks of one user that may be running or waiting. */
  readonly maxPendingPerUser: number;
  /** Tasks of all users that may be running or waiting. */
  readonly maxPending: number;
  /** How long the log and state of a task stay readable after its end. */
  readonly keptMs: number;
  /** Without it, tasks have no trace. */
  readonly trace?: TraceSettings;
}

/** Maximum number of feed rows read of a task: more than its turns can make. */
const MAX_PAGES = 20;
const PAGE_ROWS = 200;

/** The part of the store that holds only tasks. */
export const taskPart = (redis: RedisConnection): RedisConnection => redis.part('tasks');

/** @param redis the part that holds tasks */
export function redisTaskStore(redis: RedisConnection, options: TaskStoreOptions): TaskStore {
  const settings = storeSettings({
    maxInFlightRuns: options.maxPendingPerUser,
    maxPending: options.maxPending,
    eventsTtlMs: options.keptMs,
    ...omitUndefined({ trace: options.trace }),
  });
  const { admit, requestCancel } = admissions(redis, settings);
  const { getRun } = runRecords(redis);
  const { head } = checkpointReads(redis, settings);
  const { deleteThread } = threadRecords(redis, settings);
  const { readFeed } = threadFeed(redis, '1');
  const list = taskList(redis, options.keptMs);

  async function dispatch(task: NewTask): Promise<RunRecord> {
    const request = admissionOf(task);
    const parent = { userId: task.userId, threadId: task.spec.parent.thread_id };
    await list.enter(parent, request.threadId);
    const { run, repeated } = await admit(request);
    if (repeated && specOf(run)?.args_hash !== task.spec.args_hash) {
      throw new ConflictError('this tool call has already delegated another task', { details: { runId: run.run_id } });
    }
    return repeated ? ((await newestRun(keyOf(run))) ?? run) : run;
  }

  async function resume(task: NewTask, before: RunRecord, given: TaskAnswers): Promise<RunRecord> {
    return (await admit(continuationOf(task, before, given))).run;
  }

  const find: TaskStore['find'] = ({ userId, parentRunId, toolCallId }) =>
    newestRun({ userId, threadId: taskIds(parentRunId, toolCallId).threadId });

  /** A task's thread has one run, and one more each time that it continues with a person's answers. */
  async function newestRun(thread: ThreadKey): Promise<RunRecord | null> {
    const [runId] = await redis.use((client) => client.zrevrange(redis.keys.thread(thread).runs, 0, 0));
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

  return {
    dispatch,
    resume,
    holdListed: ({ thread_id: threadId }, parent) => list.hold(parent, threadId),
    find,
    threadOf: ({ userId, parentRunId, toolCallId }) => ({
      userId,
      threadId: taskIds(parentRunId, toolCallId).threadId,
    }),
    head: (run) => head(keyOf(run)),
    steps: (run) => orNull(newestRows(keyOf(run))),
    cancel: (run) => requestCancel(keyOf(run), run.run_id, 'interrupt'),
    tasksOf: async (parent) => {
      const threads = await list.threadsOf(parent);
      const runs = await Promise.all(threads.map((threadId) => newestRun({ userId: parent.userId, threadId })));
      return runs.filter((run) => run !== null);
    },
    forget,
    forgetTasksOf: async (parent) => {
      for (const threadId of await list.threadsOf(parent)) {
        await forget({ userId: parent.userId, threadId });
      }
      await list.remove(parent);
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

/** The admission of the run that continues a task. Its limits of turns and time begin again. */
function continuationOf(task: NewTask, before: RunRecord, given: TaskAnswers): AdmitRequest {
  const first = admissionOf(task);
  const runId = continuationId(before.run_id, Object.keys(given.answers));
  const continuation = { run_id: runId, parent_run_id: given.parentRunId, spent: given.spent };
  return {
    ...first,
    runId,
    metadata: { [TASK_METADATA]: { ...task.spec, continuation } },
    kwargs: {
      ...first.kwargs,
      input: null,
      command: { answers: { ...given.answers }, ...omitUndefined({ answered_by: given.by }) },
    },
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

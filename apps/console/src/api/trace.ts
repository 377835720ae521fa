import type { fileHistoryRoutes, runTraceRoutes, threadRoutes, TraceReply } from '@caribou/contracts';
import { endpoint } from './endpoint.js';

const getTrace = endpoint<typeof runTraceRoutes.trace>('GET', '/threads/:thread_id/runs/:run_id/trace');
const getTaskTrace = endpoint<typeof runTraceRoutes.taskTrace>(
  'GET',
  '/threads/:thread_id/runs/:run_id/tasks/:task_id/trace',
);
const getRequest = endpoint<typeof runTraceRoutes.request>('GET', '/threads/:thread_id/runs/:run_id/requests/:call');
const getTaskRequest = endpoint<typeof runTraceRoutes.taskRequest>(
  'GET',
  '/threads/:thread_id/runs/:run_id/tasks/:task_id/requests/:call',
);
export const getStateAt = endpoint<typeof threadRoutes.stateAt>('GET', '/threads/:thread_id/state/:checkpoint_id');
export const getFileDiff = endpoint<typeof fileHistoryRoutes.diff>('GET', '/threads/:thread_id/files/diff');

export type TraceEntry = TraceReply['entries'][number];

/** A run, or a task of one, whose trace is shown. */
export interface Traced {
  readonly threadId: string;
  readonly runId: string;
  /** Absent: the run itself. */
  readonly taskId?: string;
  /** For administrators: the user whose thread it is; absent: one's own. */
  readonly userId?: string;
}

/** The whole trace as far as it is known. */
export interface LoadedTrace {
  readonly run: TraceReply['run'];
  readonly retainedUntil: string | null;
  /** By `seq`, each once. */
  readonly entries: readonly TraceEntry[];
  /** The trace has more entries than are shown. */
  readonly isCut: boolean;
}

const PAGE_ENTRIES = 2_000;
const MAX_ENTRIES = 20_000;

/** Reads what is new in a trace since it was read last, page after page. */
export async function loadTrace(
  traced: Traced,
  before: LoadedTrace | undefined,
  signal: AbortSignal,
): Promise<LoadedTrace> {
  const entries = [...(before?.entries ?? [])];
  for (;;) {
    const reply = await readPage(traced, entries.at(-1)?.seq ?? 0, signal);
    entries.push(...reply.entries);
    const isCut = reply.next !== null && entries.length >= MAX_ENTRIES;
    if (reply.next === null || isCut || reply.entries.length === 0)
      return { run: reply.run, retainedUntil: reply.retained_until, entries, isCut };
  }
}

function readPage(traced: Traced, after: number, signal: AbortSignal): Promise<TraceReply> {
  const query = { after, limit: PAGE_ENTRIES, ...userOf(traced) };
  const { taskId: task_id } = traced;
  return task_id === undefined
    ? getTrace({ params: pathOf(traced), query, signal })
    : getTaskTrace({ params: { ...pathOf(traced), task_id }, query, signal });
}

/** One request as the model saw it, with a page of its messages. */
export function loadRequest(traced: Traced, call: number, offset: number, signal: AbortSignal) {
  const query = { offset, ...userOf(traced) };
  const { taskId: task_id } = traced;
  const params = { ...pathOf(traced), call: String(call) };
  return task_id === undefined
    ? getRequest({ params, query, signal })
    : getTaskRequest({ params: { ...params, task_id }, query, signal });
}

const pathOf = ({ threadId, runId }: Traced) => ({ thread_id: threadId, run_id: runId });

const userOf = ({ userId }: Traced): { readonly user_id?: string } => (userId === undefined ? {} : { user_id: userId });

import { z } from 'zod';
import { RunId, ThreadId, UserId } from '../../common/ids.js';
import { CancelAction, RunStatus, StreamMode } from '../../records/runs.js';
import { FinalValues, RUN_FIELDS, RunReply } from './replies.js';
import { QueryFlag, queryInt, queryList, route, unsupported, Unsupported } from '../route.js';
import { RunCreate } from './run-create.js';
import { RunBatch } from './run-batch.js';
import { StreamNamespaces } from './run-fields.js';
import { ThreadPath } from './threads.js';

const RunPath = ThreadPath.extend({ run_id: RunId });
const MAX_CANCELLED = 1_000;
const StreamQuery = z.object({ namespace: StreamNamespaces });

const started = { group: 'Runs', method: 'POST', refusals: [404, 409, 429] } as const;

const create = route({
  ...started,
  name: 'createRun',
  path: '/threads/:thread_id/runs',
  summary: 'Start a run and return at once.',
  params: ThreadPath,
  body: RunCreate,
  reply: RunReply,
});

const stream = route({
  ...started,
  name: 'streamRun',
  path: '/threads/:thread_id/runs/stream',
  summary: 'Start a run and stream its events.',
  params: ThreadPath,
  query: StreamQuery,
  body: RunCreate,
  reply: 'event-stream',
});

const wait = route({
  ...started,
  name: 'waitRun',
  path: '/threads/:thread_id/runs/wait',
  summary: 'Start a run and return its final values; newlines are sent until then.',
  params: ThreadPath,
  body: RunCreate,
  reply: FinalValues,
});

const list = route({
  name: 'listRuns',
  group: 'Runs',
  method: 'GET',
  path: '/threads/:thread_id/runs',
  summary:
    'Runs of a thread, newest first. A page ends early when it gets large; X-Pagination-Next is the offset of the next, when there may be one.',
  params: ThreadPath,
  query: z.object({
    limit: queryInt(10, 1, 1_000),
    offset: queryInt(0, 0, 1_000_000),
    status: RunStatus.optional(),
    select: queryList(RUN_FIELDS).optional(),
  }),
  reply: z.array(RunReply.partial()),
  refusals: [404],
});

const get = route({
  name: 'getRun',
  group: 'Runs',
  method: 'GET',
  path: '/threads/:thread_id/runs/:run_id',
  summary: 'One run.',
  params: RunPath,
  reply: RunReply,
  refusals: [404],
});

const remove = route({
  name: 'deleteRun',
  group: 'Runs',
  method: 'DELETE',
  path: '/threads/:thread_id/runs/:run_id',
  summary: 'Delete the record of a finished run.',
  params: RunPath,
  status: 204,
  reply: 'empty',
  refusals: [404, 409],
});

const join = route({
  name: 'joinRun',
  group: 'Runs',
  method: 'GET',
  path: '/threads/:thread_id/runs/:run_id/join',
  summary: 'Final values of a run once it has ended; newlines are sent until then.',
  params: RunPath,
  query: z.object({ cancel_on_disconnect: QueryFlag.optional() }),
  reply: FinalValues,
  refusals: [404, 429],
});

/** Streams are resumed by `Last-Event-ID`; an event has no checkpoint that it could be found by. */
const JoinQuery = z.object({
  cancel_on_disconnect: QueryFlag.optional(),
  stream_mode: queryList(StreamMode).optional(),
  namespace: StreamNamespaces,
  checkpoint_id: z
    .string()
    .optional()
    .describe('Changes nothing: web clients send the checkpoint that they show, and resume by Last-Event-ID'),
});

const joinStream = route({
  name: 'joinRunStream',
  group: 'Runs',
  method: 'GET',
  path: '/threads/:thread_id/runs/:run_id/stream',
  summary: 'Events of a run from the start, or after the header Last-Event-ID, until its end.',
  params: RunPath,
  query: JoinQuery,
  reply: 'event-stream',
  refusals: [404, 429],
});

const cancel = route({
  name: 'cancelRun',
  group: 'Runs',
  method: 'POST',
  path: '/threads/:thread_id/runs/:run_id/cancel',
  summary: 'Stop a run; with wait=1 the answer is 204 once it has stopped, otherwise 202.',
  params: RunPath,
  query: z.object({
    wait: QueryFlag.optional(),
    action: CancelAction.default('interrupt'),
    reason: unsupported('runs have no reason of their cancellation'),
  }),
  status: 202,
  reply: 'empty',
  refusals: [404],
});

const cancelMany = route({
  name: 'cancelRuns',
  group: 'Runs',
  method: 'POST',
  path: '/runs/cancel',
  summary: 'Stop runs: those with these ids, of this thread, or with this status; those that have ended do not change.',
  query: z.object({ action: CancelAction.default('interrupt') }),
  body: z
    .object({
      thread_id: ThreadId.nullish(),
      run_ids: z.array(RunId).max(MAX_CANCELLED).nullish(),
      status: z.enum(['pending', 'running', 'all']).nullish().describe('Default all'),
    })
    .catchall(Unsupported)
    .refine(
      ({ thread_id, run_ids, status }) =>
        [thread_id, run_ids, status].some((part) => part !== null && part !== undefined),
      'must have thread_id, run_ids or status',
    ),
  status: 204,
  reply: 'empty',
  refusals: [404],
});

const OfUser = z.object({
  user_id: UserId.optional().describe('Administrators only: the owner of the thread'),
});

const pause = route({
  name: 'pauseRun',
  group: 'Runs',
  method: 'POST',
  path: '/threads/:thread_id/runs/:run_id/pause',
  summary: 'Ask a run to stop at its next step; it ends as interrupted and can be resumed.',
  params: RunPath,
  query: OfUser,
  status: 202,
  reply: RunReply,
  refusals: [404, 409],
});

const resume = route({
  name: 'resumeRun',
  group: 'Runs',
  method: 'POST',
  path: '/threads/:thread_id/runs/:run_id/resume',
  summary: 'Continue a paused run, as a new run with the same settings.',
  params: RunPath,
  query: OfUser,
  reply: RunReply,
  refusals: [404, 409, 429],
});

const startedAlone = { ...started, group: 'Stateless runs' } as const;

const createAlone = route({
  ...startedAlone,
  name: 'createStatelessRun',
  path: '/runs',
  summary: 'Start a run on a thread of its own.',
  body: RunCreate,
  reply: RunReply,
});

const streamAlone = route({
  ...startedAlone,
  name: 'streamStatelessRun',
  path: '/runs/stream',
  summary: 'Start a run on a thread of its own and stream its events.',
  query: StreamQuery,
  body: RunCreate,
  reply: 'event-stream',
});

const waitAlone = route({
  ...startedAlone,
  name: 'waitStatelessRun',
  path: '/runs/wait',
  summary: 'Start a run on a thread of its own and return its final values.',
  body: RunCreate,
  reply: FinalValues,
});

const batch = route({
  ...startedAlone,
  name: 'createStatelessRuns',
  path: '/runs/batch',
  summary: 'Start several runs, each on a thread of its own.',
  body: RunBatch,
  reply: z.array(RunReply),
});

const joinStreamAlone = route({
  name: 'joinStatelessRunStream',
  group: 'Stateless runs',
  method: 'GET',
  path: '/runs/:run_id/stream',
  summary: 'Events of a run on whatever thread, as GET /threads/{thread_id}/runs/{run_id}/stream.',
  params: z.object({ run_id: RunId }),
  query: JoinQuery,
  reply: 'event-stream',
  refusals: [404, 429],
});

export const runRoutes = {
  create,
  stream,
  wait,
  list,
  get,
  remove,
  join,
  joinStream,
  cancel,
  cancelMany,
  pause,
  resume,
};
export const statelessRoutes = {
  create: createAlone,
  stream: streamAlone,
  wait: waitAlone,
  batch,
  joinStream: joinStreamAlone,
};

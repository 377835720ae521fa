import { z } from 'zod';
import { ThreadId } from '../../common/ids.js';
import { ThreadStreamMode } from '../../records/runs.js';
import { ThreadStatus } from '../../records/thread-state.js';
import { THREAD_FIELDS, ThreadReply, TokenUsageReply } from './replies.js';
import { ClientMetadata, FreeJson, queryList, route, Unsupported } from '../route.js';
import { stateRoutes } from './state-routes.js';
import { ThreadPath } from './thread-path.js';

export { ThreadPath };

const MAX_LIST = 1_000;
const limit = (max: number) => z.number().int().min(1).max(max).default(10);
const offset = z.number().int().min(0).max(1_000_000).default(0);

const filters = {
  metadata: FreeJson.nullish(),
  values: FreeJson.nullish(),
  status: ThreadStatus.nullish(),
};

const create = route({
  name: 'createThread',
  group: 'Threads',
  method: 'POST',
  path: '/threads',
  summary: 'Create a thread, with the id of your choice or a fresh one; an existing id returns that thread.',
  body: z.preprocess(
    (value) => value ?? {},
    z
      .object({
        thread_id: ThreadId.nullish(),
        metadata: ClientMetadata.nullish(),
        if_exists: z.enum(['raise', 'do_nothing']).nullish(),
      })
      .catchall(Unsupported),
  ),
  reply: ThreadReply,
  refusals: [409],
});

const search = route({
  name: 'searchThreads',
  group: 'Threads',
  method: 'POST',
  path: '/threads/search',
  summary:
    'List threads; the header X-Pagination-Total counts all that match. A page ends early when it gets large; X-Pagination-Next is the offset of the next.',
  body: z.preprocess(
    (value) => value ?? {},
    z
      .object({
        ...filters,
        ids: z.array(ThreadId).max(MAX_LIST).nullish(),
        limit: limit(MAX_LIST),
        offset,
        sort_by: z.enum(['thread_id', 'status', 'created_at', 'updated_at']).nullish(),
        sort_order: z.enum(['asc', 'desc']).nullish(),
        select: z.array(THREAD_FIELDS).nullish(),
      })
      .catchall(Unsupported),
  ),
  reply: z.array(ThreadReply.partial()),
});

const count = route({
  name: 'countThreads',
  group: 'Threads',
  method: 'POST',
  path: '/threads/count',
  summary: 'How many threads match.',
  body: z.preprocess((value) => value ?? {}, z.object(filters).catchall(Unsupported)),
  reply: z.number().int(),
});

const get = route({
  name: 'getThread',
  group: 'Threads',
  method: 'GET',
  path: '/threads/:thread_id',
  summary: 'A thread with its current values.',
  params: ThreadPath,
  query: z.object({
    include: queryList(z.enum(['ttl']))
      .optional()
      .describe('ttl: null, as threads are stored until they are deleted'),
  }),
  reply: ThreadReply,
  refusals: [404],
});

const patch = route({
  name: 'patchThread',
  group: 'Threads',
  method: 'PATCH',
  path: '/threads/:thread_id',
  summary: 'Merge metadata, key by key. The header Prefer: return=minimal asks for a 204 without a body.',
  params: ThreadPath,
  body: z.object({ metadata: ClientMetadata.nullish() }).catchall(Unsupported),
  reply: ThreadReply,
  refusals: [404],
});

const remove = route({
  name: 'deleteThread',
  group: 'Threads',
  method: 'DELETE',
  path: '/threads/:thread_id',
  summary: 'Delete a thread with its runs and checkpoints.',
  params: ThreadPath,
  status: 204,
  reply: 'empty',
  refusals: [404, 409],
});

const copy = route({
  name: 'copyThread',
  group: 'Threads',
  method: 'POST',
  path: '/threads/:thread_id/copy',
  summary: 'A new thread with the same checkpoints, and their files if these are in an object store.',
  params: ThreadPath,
  reply: ThreadReply,
  refusals: [404, 409],
});

const MAX_PRUNED = 100;

const prune = route({
  name: 'pruneThreads',
  group: 'Threads',
  method: 'POST',
  path: '/threads/prune',
  summary:
    'Delete threads, or with strategy keep_latest all their checkpoints but the newest. Threads that do not exist or have a run in flight are left as they are and do not count.',
  body: z
    .object({
      thread_ids: z.array(ThreadId).min(1).max(MAX_PRUNED),
      strategy: z.enum(['delete', 'keep_latest']).default('delete'),
    })
    .catchall(Unsupported),
  reply: z.object({ pruned_count: z.number().int() }),
});

const joinStream = route({
  name: 'joinThreadStream',
  group: 'Threads',
  method: 'GET',
  path: '/threads/:thread_id/stream',
  summary:
    'Events of the runs of a thread as they start, from those in flight or after the header Last-Event-ID, until the thread is deleted.',
  params: ThreadPath,
  query: z.object({ stream_mode: queryList(ThreadStreamMode).optional().describe('Default run_modes') }),
  reply: 'event-stream',
  refusals: [404, 429],
});

const tokenUsage = route({
  name: 'getThreadTokenUsage',
  group: 'Threads',
  method: 'GET',
  path: '/threads/:thread_id/token-usage',
  summary:
    'Tokens of all its model calls, by model and caller, what they cost by the prices of now, and how full its context is.',
  params: ThreadPath,
  reply: TokenUsageReply,
  refusals: [404],
});

export const threadRoutes = {
  create,
  search,
  count,
  get,
  patch,
  remove,
  copy,
  prune,
  joinStream,
  tokenUsage,
  ...stateRoutes,
};

import { z } from 'zod';
import { CheckpointId } from '../../common/ids.js';
import { StateValues } from './client-state.js';
import { StateReply, StateUpdateReply } from './replies.js';
import { ClientMetadata, FreeJson, QueryFlag, queryList, route, Unsupported } from '../route.js';
import { CheckpointRef } from './run-create.js';
import { StateSelect } from './state-select.js';
import { ThreadPath } from './thread-path.js';

const MAX_HISTORY = 1_000;

/** Nodes that an update can be written as; it decides where the next run continues. */
const UPDATE_NODES = ['__start__', 'model_request', 'tools', '__end__'] as const;

const StateQuery = z.object({
  subgraphs: QueryFlag.optional(),
  select: queryList(z.string()).pipe(StateSelect).optional().describe('Fields to return; default all'),
});

const state = route({
  name: 'getThreadState',
  group: 'State',
  method: 'GET',
  path: '/threads/:thread_id/state',
  summary: 'The newest state.',
  params: ThreadPath,
  query: StateQuery,
  reply: StateReply.partial(),
  refusals: [404],
});

const stateAt = route({
  name: 'getThreadStateAt',
  group: 'State',
  method: 'GET',
  path: '/threads/:thread_id/state/:checkpoint_id',
  summary: 'The state at a checkpoint.',
  params: ThreadPath.extend({ checkpoint_id: CheckpointId }),
  query: StateQuery,
  reply: StateReply.partial(),
  refusals: [404],
});

const stateAtCheckpoint = route({
  name: 'postThreadStateAt',
  group: 'State',
  method: 'POST',
  path: '/threads/:thread_id/state/checkpoint',
  summary: 'The state at a checkpoint, named in the body.',
  params: ThreadPath,
  body: z
    .object({ checkpoint: CheckpointRef, subgraphs: z.boolean().nullish(), select: StateSelect.nullish() })
    .catchall(Unsupported),
  reply: StateReply.partial(),
  refusals: [404],
});

const updateState = route({
  name: 'updateThreadState',
  group: 'State',
  method: 'POST',
  path: '/threads/:thread_id/state',
  summary:
    'Write a checkpoint: title, todos, artifacts; messages of type human or system, new content of others under their ids, and removals.',
  params: ThreadPath,
  body: z
    .object({
      values: StateValues,
      as_node: z.enum(UPDATE_NODES, { error: `must be one of ${UPDATE_NODES.join(', ')}` }).nullish(),
      checkpoint_id: CheckpointId.nullish(),
      checkpoint: CheckpointRef.nullish(),
    })
    .catchall(Unsupported),
  reply: StateUpdateReply,
  refusals: [403, 404, 409],
});

/** Older than this checkpoint; an id, or LangGraph's config object. */
const Before = z.union([
  CheckpointId,
  z.object({ checkpoint_id: CheckpointId }).transform((value) => value.checkpoint_id),
  z
    .object({ configurable: z.object({ checkpoint_id: CheckpointId }) })
    .transform((value) => value.configurable.checkpoint_id),
]);

const patchState = route({
  name: 'patchThreadState',
  group: 'State',
  method: 'PATCH',
  path: '/threads/:thread_id/state',
  summary: "Merge the thread's metadata, key by key, as PATCH of the thread does.",
  params: ThreadPath,
  body: z.object({ metadata: ClientMetadata.nullish() }).catchall(Unsupported),
  status: 204,
  reply: 'empty',
  refusals: [404, 413],
});

const history = route({
  name: 'getThreadHistory',
  group: 'State',
  method: 'POST',
  path: '/threads/:thread_id/history',
  summary:
    'States, newest first. A page ends early when it gets large; X-Pagination-Next is the `before` of the next, when there may be one.',
  params: ThreadPath,
  body: z.preprocess(
    (value) => value ?? {},
    z
      .object({
        limit: z
          .number()
          .int()
          .min(1)
          .transform((value) => Math.min(value, MAX_HISTORY))
          .default(10),
        before: Before.nullish(),
        metadata: FreeJson.nullish(),
        select: StateSelect.nullish(),
      })
      .catchall(Unsupported),
  ),
  reply: z.array(StateReply.partial()),
  refusals: [404],
});

/** Reading and writing the state of a thread. */
export const stateRoutes = { state, stateAt, stateAtCheckpoint, updateState, patchState, history };

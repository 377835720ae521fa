import { z } from 'zod';
import { LEAD_AGENT } from '../../records/runs.js';
import { ASSISTANT_FIELDS, AssistantReply, AssistantVersionReply } from '../threads/replies.js';
import { RunConfig } from '../threads/run-create.js';
import { FreeJson, OpenContext, orEmpty, QueryFlag, route, Unsupported, ClientMetadata } from '../route.js';

const AssistantPath = z.object({ assistant_id: z.string().min(1).max(200) });

const MAX_NAME_CHARS = 200;
const MAX_DESCRIPTION_CHARS = 1_000;

const filters = {
  graph_id: z.string().nullish(),
  name: z.string().nullish().describe('Part of the name'),
  metadata: FreeJson.nullish(),
};
const page = {
  limit: z.number().int().min(1).max(1_000).default(10),
  offset: z.number().int().min(0).max(1_000_000).default(0),
};

const search = route({
  name: 'searchAssistants',
  group: 'Assistants',
  method: 'POST',
  path: '/assistants/search',
  summary:
    'List assistants; X-Pagination-Total counts all that match, X-Pagination-Next is the offset of the next page.',
  body: orEmpty(
    z
      .object({
        ...filters,
        ...page,
        sort_by: z.enum(['assistant_id', 'graph_id', 'name', 'created_at', 'updated_at']).nullish(),
        sort_order: z.enum(['asc', 'desc']).nullish(),
        select: z.array(ASSISTANT_FIELDS).nullish(),
      })
      .catchall(Unsupported),
  ),
  reply: z.array(AssistantReply.partial()),
});

const count = route({
  name: 'countAssistants',
  group: 'Assistants',
  method: 'POST',
  path: '/assistants/count',
  summary: 'How many assistants match.',
  body: orEmpty(z.object(filters).catchall(Unsupported)),
  reply: z.number().int(),
});

const GraphId = z.literal(LEAD_AGENT, { error: `must be ${LEAD_AGENT}, the only graph` });

const content = {
  config: RunConfig.nullish().describe('recursion_limit, configurable and metadata of its runs'),
  context: OpenContext.nullish().describe('Settings of its runs; what a run names comes first'),
  metadata: ClientMetadata.nullish(),
  name: z.string().min(1).max(MAX_NAME_CHARS).nullish(),
  description: z.string().max(MAX_DESCRIPTION_CHARS).nullish(),
};

const create = route({
  name: 'createAssistant',
  group: 'Assistants',
  method: 'POST',
  path: '/assistants',
  summary: 'Create an assistant: settings of runs under an id.',
  body: z
    .object({
      assistant_id: z.uuid('must be a UUID').nullish(),
      graph_id: GraphId,
      if_exists: z.enum(['raise', 'do_nothing']).nullish().describe('Default raise'),
      ...content,
    })
    .catchall(Unsupported),
  reply: AssistantReply,
  refusals: [409, 429],
});

const update = route({
  name: 'updateAssistant',
  group: 'Assistants',
  method: 'PATCH',
  path: '/assistants/:assistant_id',
  summary: 'Write a new version with the named fields changed; metadata is merged, key by key.',
  params: AssistantPath,
  body: z.object({ graph_id: GraphId.nullish(), ...content }).catchall(Unsupported),
  reply: AssistantReply,
  refusals: [400, 404, 409, 429],
});

const remove = route({
  name: 'deleteAssistant',
  group: 'Assistants',
  method: 'DELETE',
  path: '/assistants/:assistant_id',
  summary: 'Delete an assistant with its versions; with delete_threads also the threads that were created with it.',
  params: AssistantPath,
  query: z.object({ delete_threads: QueryFlag.optional() }),
  status: 204,
  reply: 'empty',
  refusals: [400, 404, 409],
});

const versions = route({
  name: 'listAssistantVersions',
  group: 'Assistants',
  method: 'POST',
  path: '/assistants/:assistant_id/versions',
  summary: 'Its versions, newest first; the newest 20 are stored.',
  params: AssistantPath,
  body: orEmpty(z.object({ metadata: FreeJson.nullish(), ...page }).catchall(Unsupported)),
  reply: z.array(AssistantVersionReply),
  refusals: [404],
});

const setLatest = route({
  name: 'setLatestAssistantVersion',
  group: 'Assistants',
  method: 'POST',
  path: '/assistants/:assistant_id/latest',
  summary: 'Make a stored version the current one, which runs use.',
  params: AssistantPath,
  body: z.object({ version: z.number().int().min(1) }).catchall(Unsupported),
  reply: AssistantReply,
  refusals: [400, 404],
});

const get = route({
  name: 'getAssistant',
  group: 'Assistants',
  method: 'GET',
  path: '/assistants/:assistant_id',
  summary: 'One assistant, by id or graph name.',
  params: AssistantPath,
  reply: AssistantReply,
  refusals: [404],
});

const graph = route({
  name: 'getAssistantGraph',
  group: 'Assistants',
  method: 'GET',
  path: '/assistants/:assistant_id/graph',
  summary: 'The nodes and edges of the loop.',
  params: AssistantPath,
  reply: z.object({
    nodes: z.array(z.object({ id: z.string(), type: z.string(), data: z.unknown() })),
    edges: z.array(z.object({ source: z.string(), target: z.string(), conditional: z.boolean().optional() })),
  }),
  refusals: [404],
});

const schemas = route({
  name: 'getAssistantSchemas',
  group: 'Assistants',
  method: 'GET',
  path: '/assistants/:assistant_id/schemas',
  summary: 'JSON Schemas of input, output, state and settings.',
  params: AssistantPath,
  reply: z.object({
    graph_id: z.string(),
    input_schema: FreeJson,
    output_schema: FreeJson,
    state_schema: FreeJson,
    config_schema: FreeJson,
    context_schema: FreeJson,
  }),
  refusals: [404],
});

const subgraphs = route({
  name: 'listAssistantSubgraphs',
  group: 'Assistants',
  method: 'GET',
  path: '/assistants/:assistant_id/subgraphs',
  summary: 'Empty: the graph has no subgraphs.',
  params: AssistantPath,
  reply: FreeJson,
  refusals: [404],
});

const subgraph = route({
  ...subgraphs,
  name: 'getAssistantSubgraphs',
  path: '/assistants/:assistant_id/subgraphs/:namespace',
  params: AssistantPath.extend({ namespace: z.string().max(1_000) }),
});

export const assistantRoutes = {
  create,
  search,
  count,
  get,
  update,
  remove,
  versions,
  setLatest,
  graph,
  schemas,
  subgraphs,
  subgraph,
};

import { z } from 'zod';
import { AssistantReply } from '../threads/replies.js';
import { FreeJson, route } from '../route.js';

const AssistantPath = z.object({ assistant_id: z.string().min(1).max(200) });

const search = route({
  name: 'searchAssistants',
  group: 'Assistants',
  method: 'POST',
  path: '/assistants/search',
  summary: 'List assistants.',
  body: z.preprocess(
    (value) => value ?? {},
    z.object({
      graph_id: z.string().nullish(),
      name: z.string().nullish(),
      metadata: FreeJson.nullish(),
      limit: z.number().int().min(1).max(1_000).default(10),
      offset: z.number().int().min(0).max(1_000_000).default(0),
    }),
  ),
  reply: z.array(AssistantReply),
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

export const assistantRoutes = { search, get, graph, schemas };

import { Controller, Res } from '@nestjs/common';
import { assistantRoutes, type RouteInput, RunContextValues, RunCreate, ThreadState } from '@caribou/contracts';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { selectFields } from '../threads/thread-json.js';
import { AssistantCatalog } from './assistant-catalog.js';
import { matches, sortAssistants } from './assistant-search.js';
import { AssistantsService } from './assistants.service.js';

type Of<Name extends keyof typeof assistantRoutes> = RouteInput<(typeof assistantRoutes)[Name]>;

const jsonSchema = (schema: z.ZodType): Record<string, unknown> => ({
  ...z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }),
});

/** The loop as LangGraph draws it. */
const graph = {
  nodes: [
    { id: '__start__', type: 'schema', data: '__start__' },
    { id: 'model_request', type: 'runnable', data: { id: ['model_request'], name: 'model_request' } },
    { id: 'tools', type: 'runnable', data: { id: ['tools'], name: 'tools' } },
    { id: '__end__', type: 'schema', data: '__end__' },
  ],
  edges: [
    { source: '__start__', target: 'model_request' },
    { source: 'model_request', target: 'tools', conditional: true },
    { source: 'model_request', target: '__end__', conditional: true },
    { source: 'tools', target: 'model_request' },
  ],
};

@Controller(API_ROOTS)
export class AssistantsController {
  constructor(
    private readonly assistants: AssistantCatalog,
    private readonly service: AssistantsService,
  ) {}

  @Route(assistantRoutes.create)
  create(@Caller() { userId }: Principal, @Input() { body }: Of<'create'>) {
    return this.service.create(userId, body);
  }

  @Route(assistantRoutes.update)
  update(@Caller() { userId }: Principal, @Input() { params, body }: Of<'update'>) {
    return this.service.update(userId, params.assistant_id, body);
  }

  @Route(assistantRoutes.remove)
  remove(@Caller() { userId }: Principal, @Input() { params, query }: Of<'remove'>) {
    return this.service.remove(userId, params.assistant_id, { deleteThreads: query.delete_threads ?? false });
  }

  @Route(assistantRoutes.setLatest)
  setLatest(@Caller() { userId }: Principal, @Input() { params, body }: Of<'setLatest'>) {
    return this.service.setLatest(userId, params.assistant_id, body.version);
  }

  @Route(assistantRoutes.versions)
  async versions(@Caller() { userId }: Principal, @Input() { params, body }: Of<'versions'>) {
    const found = (await this.assistants.versions(userId, params.assistant_id)).filter((version) =>
      matches(version, body),
    );
    return found.slice(body.offset, body.offset + body.limit);
  }

  @Route(assistantRoutes.count)
  async count(@Caller() { userId }: Principal, @Input() { body }: Of<'count'>, @Res() reply: FastifyReply) {
    const found = (await this.assistants.list(userId)).filter((assistant) => matches(assistant, body));
    await reply.type('application/json').send(String(found.length));
  }

  @Route(assistantRoutes.subgraphs)
  async subgraphs(@Caller() { userId }: Principal, @Input() { params }: Of<'subgraphs'>) {
    await this.assistants.find(userId, params.assistant_id);
    return {};
  }

  @Route(assistantRoutes.subgraph)
  async subgraph(@Caller() { userId }: Principal, @Input() { params }: Of<'subgraph'>) {
    await this.assistants.find(userId, params.assistant_id);
    return {};
  }

  @Route(assistantRoutes.search)
  async search(
    @Caller() { userId }: Principal,
    @Input() { body }: Of<'search'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const found = (await this.assistants.list(userId)).filter((assistant) => matches(assistant, body));
    const { sort_by: sortBy, sort_order: order = 'desc', offset, limit } = body;
    const sorted = typeof sortBy === 'string' ? sortAssistants(found, sortBy, order ?? 'desc') : found;
    const page = sorted.slice(offset, offset + limit);
    void reply.header('x-pagination-total', found.length);
    if (offset + page.length < found.length) void reply.header('x-pagination-next', offset + page.length);
    return page.map((assistant) => selectFields(assistant, body.select));
  }

  @Route(assistantRoutes.get)
  get(@Caller() { userId }: Principal, @Input() { params }: Of<'get'>) {
    return this.assistants.find(userId, params.assistant_id);
  }

  @Route(assistantRoutes.graph)
  async graph(@Caller() { userId }: Principal, @Input() { params }: Of<'graph'>) {
    await this.assistants.find(userId, params.assistant_id);
    return graph;
  }

  @Route(assistantRoutes.schemas)
  async schemas(@Caller() { userId }: Principal, @Input() { params }: Of<'schemas'>) {
    const { graph_id } = await this.assistants.find(userId, params.assistant_id);
    const state = jsonSchema(ThreadState.omit({ guards: true, thread_context: true }));
    return {
      graph_id,
      input_schema: jsonSchema(RunCreate.shape.input),
      output_schema: state,
      state_schema: state,
      config_schema: {},
      context_schema: jsonSchema(RunContextValues),
    };
  }
}

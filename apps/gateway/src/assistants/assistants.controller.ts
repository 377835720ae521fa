import { Controller, Res } from '@nestjs/common';
import { assistantRoutes, type RouteInput, RunContextValues, RunCreate, ThreadState } from '@caribou/contracts';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { AssistantCatalog } from './assistant-catalog.js';

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
  constructor(private readonly assistants: AssistantCatalog) {}

  @Route(assistantRoutes.search)
  async search(
    @Caller() { userId }: Principal,
    @Input() { body }: Of<'search'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const wanted = Object.entries(body.metadata ?? {});
    const found = (await this.assistants.list(userId)).filter(
      ({ graph_id, name, metadata }) =>
        (body.graph_id ?? graph_id) === graph_id &&
        name.includes(body.name ?? '') &&
        wanted.every(([key, value]) => metadata[key] === value),
    );
    void reply.header('x-pagination-total', found.length);
    return found.slice(body.offset, body.offset + body.limit);
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

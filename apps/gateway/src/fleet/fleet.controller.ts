import {
  fleetRoutes,
  type FleetReply,
  type ModelState,
  modelStateRoutes,
  queueRoutes,
  type QueuesReply,
  type RouteInput,
  sandboxRoutes,
  type SandboxesReply,
} from '@caribou/contracts';
import { Controller, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { FleetService } from './fleet.service.js';
import { ModelStatesService } from './model-states.service.js';
import { QueuesService } from './queues.service.js';
import { SandboxesService } from './sandboxes.service.js';

/** What administrators see and change of the running system. */
@Controller(API_ROOTS)
export class FleetController {
  constructor(
    private readonly fleet: FleetService,
    private readonly queues: QueuesService,
    private readonly models: ModelStatesService,
    private readonly sandboxes: SandboxesService,
  ) {}

  @Route(fleetRoutes.get)
  getFleet(): Promise<FleetReply> {
    return this.fleet.read();
  }

  @Route(queueRoutes.get)
  getQueues(): Promise<QueuesReply> {
    return this.queues.read();
  }

  @Route(modelStateRoutes.list)
  async listModels(): Promise<{ models: readonly ModelState[] }> {
    return { models: await this.models.list() };
  }

  @Route(modelStateRoutes.resetCircuit)
  resetCircuit(
    @Caller() { userId }: Principal,
    @Input() { params }: RouteInput<typeof modelStateRoutes.resetCircuit>,
    @Req() { ip }: FastifyRequest,
  ): Promise<ModelState> {
    return this.models.resetCircuit(params.model_name, { by: userId, from: ip });
  }

  @Route(sandboxRoutes.list)
  listSandboxes(@Input() { query }: RouteInput<typeof sandboxRoutes.list>): Promise<SandboxesReply> {
    return this.sandboxes.list(query);
  }

  @Route(sandboxRoutes.end)
  endSandbox(
    @Caller() { userId }: Principal,
    @Input() { params, query }: RouteInput<typeof sandboxRoutes.end>,
    @Req() { ip }: FastifyRequest,
  ): Promise<{ commands: number }> {
    const thread = { userId: params.user_id, threadId: params.thread_id };
    return this.sandboxes.end(thread, query.since, { by: userId, from: ip });
  }
}

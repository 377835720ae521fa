import { Controller } from '@nestjs/common';
import { agentRoutes, type ChainReply, LEAD_AGENT, type RouteInput } from '@caribou/contracts';
import type { Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { Dependency } from '../dependency.js';
import { AgentsService } from './agents.service.js';
import type { ChainCatalog } from './chain-catalog.js';

type Of<Name extends keyof typeof agentRoutes> = RouteInput<(typeof agentRoutes)[Name]>;

@Controller(API_ROOTS)
export class AgentsController {
  constructor(
    @Dependency('chains') private readonly chains: ChainCatalog,
    private readonly agents: AgentsService,
  ) {}

  @Route(agentRoutes.list)
  list(@Caller() { userId }: Principal) {
    return this.agents.list(userId);
  }

  @Route(agentRoutes.check)
  check(@Caller() { userId }: Principal, @Input() { query }: Of<'check'>) {
    return this.agents.check(userId, query.name);
  }

  @Route(agentRoutes.get)
  get(@Caller() { userId }: Principal, @Input() { params }: Of<'get'>) {
    return this.agents.get(userId, params.agent_name);
  }

  @Route(agentRoutes.create)
  create(@Caller() { userId }: Principal, @Input() { body }: Of<'create'>) {
    return this.agents.create(userId, body);
  }

  @Route(agentRoutes.update)
  update(@Caller() { userId }: Principal, @Input() { params, body }: Of<'update'>) {
    return this.agents.update(userId, params.agent_name, body);
  }

  @Route(agentRoutes.remove)
  remove(@Caller() { userId }: Principal, @Input() { params }: Of<'remove'>) {
    return this.agents.remove(userId, params.agent_name);
  }

  @Route(agentRoutes.chain)
  async chain(@Caller() { userId }: Principal, @Input() { params, query }: Of<'chain'>): Promise<ChainReply> {
    const { agent_name: agent } = params;
    if (agent === LEAD_AGENT) return { agent, ...this.chains.describe(query) };
    const { name, model } = await this.agents.find(userId, agent.toLowerCase());
    return { agent: name, ...this.chains.describe({ ...(model === null ? {} : { model_name: model }), ...query }) };
  }
}

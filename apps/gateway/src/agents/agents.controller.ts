import { agentRoutes, type ChainReply, LEAD_AGENT, NotFoundError, type RouteInput } from '@caribou/contracts';
import { Controller, Inject } from '@nestjs/common';
import { API_ROOTS, Input, Route } from '../http/route.decorators.js';
import { CHAINS } from '../ports.js';
import type { ChainCatalog } from './chain-catalog.js';

@Controller(API_ROOTS)
export class AgentsController {
  constructor(@Inject(CHAINS) private readonly chains: ChainCatalog) {}

  @Route(agentRoutes.chain)
  chain(@Input() { params, query }: RouteInput<typeof agentRoutes.chain>): ChainReply {
    const { agent_name: agent } = params;
    if (agent !== LEAD_AGENT) throw new NotFoundError(`there is no agent "${agent.slice(0, 100)}"`);
    return { agent, ...this.chains.describe(query) };
  }
}

import { z } from 'zod';
import { QueryFlag, route } from './route.js';

const group = 'Agents';

/** The switches of a run that decide about its chain, as a query spells them. */
const ChainQuery = z.object({
  model_name: z.string().min(1).max(200).optional(),
  is_plan_mode: QueryFlag.optional(),
  subagent_enabled: QueryFlag.optional(),
  max_concurrent_subagents: z.coerce.number().optional(),
  max_total_subagents: z.coerce.number().optional(),
});

const ChainPlace = z.object({
  name: z.string(),
  reason: z.string().describe('Why it stands here'),
  active: z.boolean(),
  absent: z.string().nullable().describe('Why it is left out'),
});

export const ChainReply = z.object({
  agent: z.string(),
  switches: z.object({
    model_name: z.string(),
    vision: z.boolean(),
    is_plan_mode: z.boolean(),
    subagent_enabled: z.boolean(),
    max_concurrent_subagents: z.number().int(),
    max_total_subagents: z.number().int(),
    clarification: z.boolean(),
  }),
  middlewares: z.array(ChainPlace).describe('Outermost first: before-hooks run in this order, after-hooks in reverse'),
  subagent_middlewares: z.array(ChainPlace).describe('The chain of the subagents such a run would start'),
});
export type ChainReply = z.infer<typeof ChainReply>;

const chain = route({
  name: 'getAgentChain',
  group,
  method: 'GET',
  path: '/agents/:agent_name/chain',
  summary: 'The middlewares that a run with these switches gets, in order, each with its reason.',
  params: z.object({ agent_name: z.string().min(1).max(200) }),
  query: ChainQuery,
  reply: ChainReply,
  refusals: [404],
});

export const agentRoutes = { chain };

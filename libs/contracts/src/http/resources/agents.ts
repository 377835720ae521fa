import { z } from 'zod';
import {
  AgentDescription,
  AgentEffort,
  AgentModel,
  AgentModelSettings,
  AgentName,
  AgentNamePattern,
  AgentSkills,
  AgentSoul,
  AgentThinking,
  AgentToolGroups,
  UserProfile,
} from '../../settings/agents.js';
import { AgentApprovals } from '../../settings/approval-rules.js';
import { QueryFlag, route } from '../route.js';

const group = 'Agents';

/** The switches of a run that affect its chain, as query parameters. */
const ChainQuery = z.object({
  model_name: z.string().min(1).max(200).optional(),
  is_plan_mode: QueryFlag.optional(),
  subagent_enabled: QueryFlag.optional(),
  max_concurrent_subagents: z.coerce.number().optional(),
  max_total_subagents: z.coerce.number().optional(),
});

const ChainPosition = z.object({
  name: z.string(),
  reason: z.string().describe('Why it is at this position'),
  active: z.boolean(),
  absent: z.string().nullable().describe('Why it is disabled; null when it is active'),
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
  middlewares: z
    .array(ChainPosition)
    .describe('Outermost first: before-hooks run in this order, after-hooks in reverse'),
  subagent_middlewares: z.array(ChainPosition).describe('The chain of the subagents such a run would start'),
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

const Agent = z.object({
  name: z.string(),
  description: z.string(),
  model: AgentModel,
  tool_groups: AgentToolGroups,
  skills: AgentSkills,
  model_settings: AgentModelSettings,
  thinking_enabled: AgentThinking,
  reasoning_effort: AgentEffort,
  approvals: AgentApprovals.describe('Rules for calls that a person decides, besides those of the configuration'),
  soul: z.string().nullable().describe('null in lists'),
  version: z.number().int().describe('New after each change'),
  created_at: z.string(),
  updated_at: z.string(),
});
export type AgentReply = z.infer<typeof Agent>;

const AgentPath = z.object({ agent_name: AgentNamePattern });

/** Optional settings of a new agent; null counts as absent. */
const settings = {
  description: AgentDescription.nullish(),
  model: AgentModel.optional(),
  tool_groups: AgentToolGroups.optional(),
  skills: AgentSkills.optional(),
  model_settings: AgentModelSettings.optional(),
  thinking_enabled: AgentThinking.optional(),
  reasoning_effort: AgentEffort.optional(),
  approvals: AgentApprovals.optional(),
  soul: AgentSoul.nullish(),
};

const AgentChanges = z.object({
  ...settings,
  version: z.int().min(1).nullish().describe('The version that is changed: 409 when it is not the current one'),
});
export type AgentChanges = z.infer<typeof AgentChanges>;
export const NewAgent = z.object({ name: AgentName, ...settings });
export type NewAgent = z.infer<typeof NewAgent>;

const list = route({
  name: 'listAgents',
  group,
  method: 'GET',
  path: '/agents',
  summary: 'Your custom agents by name, without their souls.',
  reply: z.object({ agents: z.array(Agent) }),
});

const check = route({
  name: 'checkAgentName',
  group,
  method: 'GET',
  path: '/agents/check',
  summary: 'Whether a custom agent may get this name.',
  query: z.object({ name: AgentNamePattern }),
  reply: z.object({ available: z.boolean(), name: z.string().describe('As it would be stored') }),
});

const get = route({
  name: 'getAgent',
  group,
  method: 'GET',
  path: '/agents/:agent_name',
  summary: 'One custom agent with its soul.',
  params: AgentPath,
  reply: Agent,
  refusals: [404],
});

const create = route({
  name: 'createAgent',
  group,
  method: 'POST',
  path: '/agents',
  summary: 'Create a custom agent.',
  body: NewAgent,
  status: 201,
  reply: Agent,
  refusals: [409],
});

const update = route({
  name: 'updateAgent',
  group,
  method: 'PUT',
  path: '/agents/:agent_name',
  summary: 'Change the given fields; the others stay the same.',
  params: AgentPath,
  body: AgentChanges,
  reply: Agent,
  refusals: [404, 409],
});

const remove = route({
  name: 'deleteAgent',
  group,
  method: 'DELETE',
  path: '/agents/:agent_name',
  summary: 'Delete a custom agent and its memory. Its threads stay.',
  params: AgentPath,
  status: 204,
  reply: 'empty',
  refusals: [404],
});

const Profile = z.object({ content: z.string().nullable().describe('null when there is none') });

const profile = route({
  name: 'getUserProfile',
  group,
  method: 'GET',
  path: '/user-profile',
  summary: 'What you tell your agents about yourself.',
  reply: Profile,
});

const setProfile = route({
  name: 'setUserProfile',
  group,
  method: 'PUT',
  path: '/user-profile',
  summary: 'Replace what you tell your agents about yourself; an empty text removes it.',
  body: z.object({ content: UserProfile }),
  reply: Profile,
});

export const agentRoutes = { list, check, get, create, update, remove, chain };
export const profileRoutes = { get: profile, set: setProfile };

import type { agentRoutes, modelRoutes } from '@caribou/contracts';
import { useQuery } from '@tanstack/react-query';
import { endpoint } from '../../../api/endpoint.js';

const listAgents = endpoint<typeof agentRoutes.list>('GET', '/agents');
const checkName = endpoint<typeof agentRoutes.check>('GET', '/agents/check');
const getChain = endpoint<typeof agentRoutes.chain>('GET', '/agents/:agent_name/chain');
const listModels = endpoint<typeof modelRoutes.list>('GET', '/models');
export const getAgent = endpoint<typeof agentRoutes.get>('GET', '/agents/:agent_name');
export const createAgent = endpoint<typeof agentRoutes.create>('POST', '/agents');
export const updateAgent = endpoint<typeof agentRoutes.update>('PUT', '/agents/:agent_name');
export const removeAgent = endpoint<typeof agentRoutes.remove>('DELETE', '/agents/:agent_name');

export type Agent = Awaited<ReturnType<typeof getAgent>>;
export type Chain = Awaited<ReturnType<typeof getChain>>;

export const AGENTS = ['agents'] as const;

export const useAgents = () =>
  useQuery({ queryKey: [...AGENTS, 'list'], queryFn: ({ signal }) => listAgents({ signal }) });

/** An agent is read once: what is edited must not change under the hands of the person. */
export const useAgent = (name: string) =>
  useQuery({
    queryKey: [...AGENTS, 'one', name],
    queryFn: ({ signal }) => getAgent({ params: { agent_name: name }, signal }),
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });

export const useChain = (name: string) =>
  useQuery({
    queryKey: [...AGENTS, 'chain', name],
    queryFn: ({ signal }) => getChain({ params: { agent_name: name }, signal }),
  });

/** Whether an agent may get this name; not asked for a name that cannot be one. */
export const useNameCheck = (name: string, isPossible: boolean) =>
  useQuery({
    queryKey: [...AGENTS, 'check', name],
    queryFn: ({ signal }) => checkName({ query: { name }, signal }),
    enabled: isPossible,
  });

export const useModels = () =>
  useQuery({ queryKey: ['models'], queryFn: ({ signal }) => listModels({ signal }), staleTime: 60_000 });

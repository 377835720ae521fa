import { Injectable } from '@nestjs/common';
import { agentOfAssistant, type AssistantReply, LEAD_AGENT, NotFoundError } from '@caribou/contracts';
import type { AgentStore, StoredAgent } from '@caribou/core';
import { Dependency } from '../dependency.js';
import { stableId } from '../runs/streams/projections/stable-id.js';

/** Creation time of the lead agent's assistant, which has no record with one. */
const PUBLISHED_AT = '2026-01-01T00:00:00.000Z';

const leadAgent: AssistantReply = {
  assistant_id: stableId(LEAD_AGENT),
  graph_id: LEAD_AGENT,
  name: LEAD_AGENT,
  description: null,
  version: 1,
  config: {},
  context: {},
  metadata: { created_by: 'system' },
  created_at: PUBLISHED_AT,
  updated_at: PUBLISHED_AT,
};

/** A custom agent as an assistant: the graph of the lead agent under the agent's name. */
const assistantOf = ({ name, description, created_at, updated_at }: StoredAgent): AssistantReply => ({
  ...leadAgent,
  assistant_id: name,
  name,
  description,
  created_at,
  updated_at,
  context: { agent_name: name },
  metadata: { created_by: 'user' },
});

/** The agent that a run request names: the lead agent, or a custom agent, which may not exist. */
export interface NamedAssistant {
  readonly assistantId: string;
  /** Name of the custom agent; absent for the lead agent. */
  readonly agentName?: string;
}

/**
 * The assistant with this id, graph name or agent name, as DeerFlow interprets them.
 *
 * @throws {NotFoundError} when no agent can have such a name
 */
export function parseAssistantId(idOrName: string): NamedAssistant {
  const { assistant_id: assistantId, graph_id: graphId } = leadAgent;
  if (idOrName === assistantId || idOrName === graphId) return { assistantId };
  const agentName = agentOfAssistant(idOrName);
  if (agentName === undefined) throw assistantNotFound(idOrName);
  return { assistantId: agentName, agentName };
}

export const assistantNotFound = (idOrName: string): NotFoundError =>
  new NotFoundError(`there is no assistant "${idOrName.slice(0, 100)}"`);

/** The lead agent and the caller's custom agents, as LangGraph's assistants. */
@Injectable()
export class AssistantCatalog {
  constructor(@Dependency('agents') private readonly agents: Pick<AgentStore, 'list' | 'read'>) {}

  async list(userId: string): Promise<readonly AssistantReply[]> {
    return [leadAgent, ...(await this.agents.list(userId)).map(assistantOf)];
  }

  /** @throws {NotFoundError} */
  async find(userId: string, idOrName: string): Promise<AssistantReply> {
    const { agentName } = parseAssistantId(idOrName);
    if (agentName === undefined) return leadAgent;
    const agent = await this.agents.read(userId, agentName);
    if (agent === null) throw assistantNotFound(idOrName);
    return assistantOf(agent);
  }
}

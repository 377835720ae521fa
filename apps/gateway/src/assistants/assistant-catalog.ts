import { Injectable } from '@nestjs/common';
import {
  agentOfAssistant,
  type AssistantReply,
  type AssistantVersionReply,
  LEAD_AGENT,
  NotFoundError,
} from '@caribou/contracts';
import type { AgentStore, StoredAgent } from '@caribou/core';
import type { AssistantStore, StoredAssistant } from '@caribou/state';
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

/** A stored assistant as clients see it. */
export const assistantJson = ({
  revision: _hidden,
  config,
  context,
  metadata,
  ...rest
}: StoredAssistant): AssistantReply => ({
  ...rest,
  config: { ...config },
  context: { ...context },
  metadata: { ...metadata },
});

/** The agent that a run request names: the lead agent, or a custom agent, which may not exist. */
export interface NamedAssistant {
  readonly assistantId: string;
  /** Name of the custom agent; absent for the lead agent. */
  readonly agentName?: string;
}

/** Whether an id may be that of a stored assistant. */
export const isStoredId = (id: string): boolean =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id) && id !== leadAgent.assistant_id;

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

/** The lead agent, the caller's custom agents and stored assistants, as LangGraph's assistants. */
@Injectable()
export class AssistantCatalog {
  constructor(
    @Dependency('agents') private readonly agents: Pick<AgentStore, 'list' | 'read'>,
    @Dependency('assistants') private readonly stored: Pick<AssistantStore, 'list' | 'read' | 'versions'>,
  ) {}

  /** The lead agent, then custom agents by name, then stored assistants, the newest first. */
  async list(userId: string): Promise<readonly AssistantReply[]> {
    const [agents, stored] = await Promise.all([this.agents.list(userId), this.stored.list(userId)]);
    const newestFirst = stored.map(assistantJson).sort((one, other) => (one.created_at < other.created_at ? 1 : -1));
    return [leadAgent, ...agents.map(assistantOf), ...newestFirst];
  }

  /** @throws {NotFoundError} */
  async find(userId: string, idOrName: string): Promise<AssistantReply> {
    const stored = await this.findStored(userId, idOrName);
    if (stored !== null) return assistantJson(stored);
    const { agentName } = parseAssistantId(idOrName);
    if (agentName === undefined) return leadAgent;
    const agent = await this.agents.read(userId, agentName);
    if (agent === null) throw assistantNotFound(idOrName);
    return assistantOf(agent);
  }

  /** The stored assistant with this id; null for the lead agent, custom agents and unknown ids. */
  async findStored(userId: string, id: string): Promise<StoredAssistant | null> {
    return isStoredId(id) ? await this.stored.read(userId, id.toLowerCase()) : null;
  }

  /** Versions, newest first; the lead agent and custom agents have one. @throws {NotFoundError} */
  async versions(userId: string, id: string): Promise<readonly AssistantVersionReply[]> {
    const { updated_at: _hidden, ...current } = await this.find(userId, id);
    const versions = isStoredId(id) ? await this.stored.versions(userId, id.toLowerCase()) : [];
    return versions.length === 0 ? [current] : versions.map((version) => ({ ...current, ...version }));
  }
}

import { Injectable } from '@nestjs/common';
import {
  customAgentOf,
  ForbiddenError,
  InvalidRequestError,
  isReservedAgent,
  type RunCreate,
} from '@caribou/contracts';
import type { AdmitRequest, AgentStore } from '@caribou/core';
import { parseAssistantId, assistantNotFound } from '../assistants/assistant-catalog.js';
import { Dependency } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';

/** Sees to it that no run is admitted for an agent that is not there; one that goes later ends its runs with an error. */
@Injectable()
export class RunAgents {
  constructor(
    @Dependency('agents') private readonly agents: Pick<AgentStore, 'read'>,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'agentsApi'>,
  ) {}

  /**
   * @throws {NotFoundError} when the assistant is no agent of the caller
   * @throws {InvalidRequestError} when the context names one that is not there, or a name that no agent can have
   * @throws {ForbiddenError} when an agent is to be made and that is switched off
   */
  async check({ assistant_id: asked }: RunCreate, { userId, kwargs: { context } }: AdmitRequest): Promise<void> {
    if (context.is_bootstrap === true) this.checkNew(context.agent_name);
    const name = customAgentOf(context);
    if (name === undefined || (await this.agents.read(userId, name)) !== null) return;
    if (parseAssistantId(asked).agentName === name) throw assistantNotFound(asked);
    throw new InvalidRequestError(`context.agent_name: there is no agent "${name}"`);
  }

  private checkNew(name: string | undefined): void {
    if (!this.settings.agentsApi.enabled)
      throw new ForbiddenError('context.is_bootstrap: no agents are made here: agents_api.enabled is false');
    if (name !== undefined && isReservedAgent(name))
      throw new InvalidRequestError('context.agent_name: is reserved; choose another name');
  }
}

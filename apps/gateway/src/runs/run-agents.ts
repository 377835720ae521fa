import { Injectable } from '@nestjs/common';
import {
  customAgentOf,
  ForbiddenError,
  InvalidRequestError,
  isReservedAgent,
  type RunCreate,
} from '@caribou/contracts';
import type { AgentStore } from '@caribou/core';
import type { AdmitRequest } from '@caribou/state';
import { assistantNotFound } from '../assistants/assistant-catalog.js';
import { type AssistedRun, RunAssistants } from '../assistants/run-assistants.js';
import { Dependency } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';

/**
 * Checks that the agent of a run exists before the run is admitted. If it is deleted later, the run ends with an error.
 */
@Injectable()
export class RunAgents {
  constructor(
    @Dependency('agents') private readonly agents: Pick<AgentStore, 'read'>,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'agentsApi'>,
    private readonly assistants: RunAssistants,
  ) {}

  /** The request with the settings of its assistant. @throws {NotFoundError} when no assistant can have the given id */
  applyAssistant(userId: string, body: RunCreate): Promise<AssistedRun> {
    return this.assistants.apply(userId, body);
  }

  /**
   * @throws {NotFoundError} when the assistant is not an agent of the caller
   * @throws {InvalidRequestError} when the context names an unknown agent, or a name that no agent can have
   * @throws {ForbiddenError} when the run would create an agent and custom agents are disabled
   */
  async check({ body, assistant }: AssistedRun, { userId, kwargs: { context } }: AdmitRequest): Promise<void> {
    if (context.is_bootstrap === true) this.checkNew(context.agent_name);
    const name = customAgentOf(context);
    if (name === undefined || (await this.agents.read(userId, name)) !== null) return;
    if (assistant.agentName === name) throw assistantNotFound(body.assistant_id);
    throw new InvalidRequestError(`context.agent_name: there is no agent "${name}"`);
  }

  private checkNew(name: string | undefined): void {
    if (!this.settings.agentsApi.enabled)
      throw new ForbiddenError('context.is_bootstrap: agents cannot be created here: agents_api.enabled is false');
    if (name !== undefined && isReservedAgent(name))
      throw new InvalidRequestError('context.agent_name: is reserved; choose another name');
  }
}

import { Injectable } from '@nestjs/common';
import {
  type AgentChanges,
  type AgentReply,
  ConflictError,
  type CustomAgent,
  ForbiddenError,
  InvalidRequestError,
  isReservedAgent,
  MAX_AGENTS,
  type NewAgent,
  NO_MODEL_SETTINGS,
  NotFoundError,
} from '@caribou/contracts';
import { findAgentFault, type AgentStore, type AgentWrite, type MemoryStore, type StoredAgent } from '@caribou/core';
import { Dependency } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';

/** Attempts to change an agent while others change it; each failed attempt means that another change was stored. */
const MAX_ATTEMPTS = 20;

const DISABLED = 'custom agents cannot be created or changed here: agents_api.enabled is false';

/** The custom agents of a user. Every method except `find` throws ForbiddenError when custom agents are disabled. */
@Injectable()
export class AgentsService {
  constructor(
    @Dependency('agents') private readonly store: AgentStore,
    @Dependency('memories') private readonly memories: Pick<MemoryStore, 'eraseAgent'>,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'agentsApi' | 'models' | 'toolGroups'>,
  ) {}

  async list(userId: string): Promise<{ readonly agents: readonly AgentReply[] }> {
    this.refuseWhenOff();
    return { agents: (await this.store.list(userId)).map((agent) => ({ ...replyOf(agent), soul: null })) };
  }

  async check(userId: string, name: string): Promise<{ readonly available: boolean; readonly name: string }> {
    this.refuseWhenOff();
    return { available: !isReservedAgent(name) && (await this.store.read(userId, name)) === null, name };
  }

  async get(userId: string, name: string): Promise<AgentReply> {
    this.refuseWhenOff();
    return replyOf(await this.find(userId, name));
  }

  /** @throws {ConflictError} when the name is taken, or the user has the maximum number of agents */
  async create(userId: string, { name, ...given }: NewAgent): Promise<AgentReply> {
    this.refuseWhenOff();
    this.refuseUnknown(given);
    const agent = { ...NO_SETTINGS, ...toAgentFields(given), name };
    const written = await this.write(userId, { agent, madeIn: null, expected: 0 });
    if (written === 'changed') throw new ConflictError(`name: there is an agent "${name}" already`);
    return replyOf(written);
  }

  /**
   * Changes the given fields of the current agent, so that concurrent changes of other fields are not lost.
   *
   * @throws {ConflictError} when the agent no longer has the given version
   */
  async update(userId: string, name: string, { version, ...changes }: AgentChanges): Promise<AgentReply> {
    this.refuseWhenOff();
    this.refuseUnknown(changes);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const before = await this.find(userId, name);
      if (typeof version === 'number' && version !== before.version) break;
      const agent = { ...before, ...toAgentFields(changes) };
      const written = await this.write(userId, { agent, madeIn: before.made_in, expected: before.version });
      if (written !== 'changed') return replyOf(written);
    }
    throw new ConflictError(`the agent "${name}" was changed meanwhile: read it again`);
  }

  /** Erases the agent's memory before its record, so that a failed deletion can be repeated. */
  async remove(userId: string, name: string): Promise<void> {
    this.refuseWhenOff();
    await this.find(userId, name);
    await this.memories.eraseAgent({ userId, agent: name });
    await this.store.remove(userId, name);
  }

  async profile(userId: string): Promise<{ readonly content: string | null }> {
    this.refuseWhenOff();
    const content = await this.store.profile(userId);
    return { content: content === '' ? null : content };
  }

  async setProfile(userId: string, content: string): Promise<{ readonly content: string | null }> {
    this.refuseWhenOff();
    await this.store.writeProfile(userId, content);
    return this.profile(userId);
  }

  private async write(userId: string, write: AgentWrite): Promise<StoredAgent | 'changed'> {
    const written = await this.store.write(userId, write);
    if (written.outcome === 'full') throw new ConflictError(`${MAX_AGENTS} agents is the limit of one user`);
    return 'agent' in written ? written.agent : 'changed';
  }

  /** Finds an agent, also when custom agents are disabled. @throws {NotFoundError} */
  async find(userId: string, name: string): Promise<StoredAgent> {
    const agent = await this.store.read(userId, name);
    if (agent === null) throw new NotFoundError(`there is no agent "${name}"`);
    return agent;
  }

  /** Checks only the given fields: a value that the agent already has may be missing from the configuration by now. */
  private refuseUnknown({ model = null, tool_groups = null }: Pick<Given, 'model' | 'tool_groups'>): void {
    const known = { models: this.settings.models.map(({ name }) => name), toolGroups: this.settings.toolGroups };
    const fault = findAgentFault({ model, tool_groups }, known);
    if (fault !== undefined) throw new InvalidRequestError(fault);
  }

  private refuseWhenOff(): void {
    if (!this.settings.agentsApi.enabled) throw new ForbiddenError(DISABLED);
  }
}

const NO_SETTINGS = {
  description: '',
  model: null,
  tool_groups: null,
  skills: null,
  soul: '',
  ...NO_MODEL_SETTINGS,
};

type Given = Omit<AgentChanges, 'version'>;

/** The given fields of an agent; a text that is null counts as not given. */
const toAgentFields = ({ description, soul, ...others }: Given): Partial<CustomAgent> => ({
  ...Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined)),
  ...(typeof description === 'string' ? { description } : {}),
  ...(typeof soul === 'string' ? { soul } : {}),
});

const replyOf = ({ made_in: _hidden, ...agent }: StoredAgent): AgentReply => agent;

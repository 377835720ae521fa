import { Injectable } from '@nestjs/common';
import {
  type AssistantReply,
  type assistantRoutes,
  BadRequestError,
  ConflictError,
  InvalidRequestError,
  LEAD_AGENT,
  newId,
  QuotaError,
  type RouteInput,
  RunContextInput,
} from '@caribou/contracts';
import {
  ASSISTANT_LIMITS,
  type AssistantContent,
  type AssistantOutcome,
  type AssistantStore,
  type StoredAssistant,
  type ThreadStore,
} from '@caribou/state';
import { Dependency } from '../dependency.js';
import type { Erasures } from '../erasure/erasures.js';
import { parse } from '../http/parse-input.js';
import type { GatewaySettings } from '../settings.js';
import { AssistantCatalog, assistantJson, assistantNotFound } from './assistant-catalog.js';

type Body<Name extends 'create' | 'update'> = RouteInput<(typeof assistantRoutes)[Name]>['body'];

/** Attempts to change an assistant while others change it; each failed one means that another change was stored. */
const MAX_ATTEMPTS = 20;
/** Threads that are read at once when an assistant is deleted with its threads. */
const PAGE = 100;

/** Creates, changes and deletes the stored assistants of users. */
@Injectable()
export class AssistantsService {
  constructor(
    @Dependency('assistants') private readonly store: AssistantStore,
    @Dependency('threadStore') private readonly threads: Pick<ThreadStore, 'searchThreads'>,
    @Dependency('erasures') private readonly erasures: Pick<Erasures, 'deleteThread'>,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'models'>,
    private readonly catalog: AssistantCatalog,
  ) {}

  /** @throws {ConflictError} when the id is in use and the caller did not say `do_nothing` */
  async create(userId: string, body: Body<'create'>): Promise<AssistantReply> {
    const id = (body.assistant_id ?? newId()).toLowerCase();
    const content = this.contentOf(body, { graph_id: LEAD_AGENT, name: 'Untitled', ...EMPTY });
    const outcome = await this.store.create(userId, id, content);
    if (outcome.outcome === 'exists' && body.if_exists !== 'do_nothing')
      throw new ConflictError(`assistant_id: there is an assistant ${id} already`);
    return assistantJson(requireWritten(outcome));
  }

  /** Changes the named fields of the current version, so that changes of other fields at the same time are not lost. */
  async update(userId: string, id: string, body: Body<'update'>): Promise<AssistantReply> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const before = await this.find(userId, id);
      const outcome = await this.store.update(userId, before, this.contentOf(body, before));
      if (outcome.outcome !== 'changed') return assistantJson(requireWritten(outcome));
    }
    throw new ConflictError('other requests are changing the assistant at the same time');
  }

  /** @throws {NotFoundError} for an unknown assistant or version */
  async setLatest(userId: string, id: string, version: number): Promise<AssistantReply> {
    await this.find(userId, id);
    const assistant = await this.store.setLatest(userId, id.toLowerCase(), version);
    if (assistant === null) throw assistantNotFound(`${id}, version ${version}`);
    return assistantJson(assistant);
  }

  /**
   * Deletes the threads before the assistant, so that a failed deletion can be repeated.
   *
   * @throws {ConflictError} when one of the threads has a run in flight; the assistant then still exists
   */
  async remove(userId: string, id: string, { deleteThreads }: { readonly deleteThreads: boolean }): Promise<void> {
    const { assistant_id: assistantId } = await this.find(userId, id);
    if (deleteThreads) await this.removeThreads(userId, assistantId);
    await this.store.remove(userId, assistantId);
  }

  private async removeThreads(userId: string, assistantId: string): Promise<void> {
    const query = { userId, metadata: { assistant_id: assistantId }, limit: PAGE, offset: 0 } as const;
    for (;;) {
      const { threads } = await this.threads.searchThreads({ ...query, sortBy: 'created_at', sortOrder: 'asc' });
      for (const { thread_id: threadId } of threads) await this.erasures.deleteThread({ userId, threadId });
      if (threads.length < PAGE) return;
    }
  }

  /** @throws {BadRequestError} for the lead agent and custom agents, which have routes of their own */
  private async find(userId: string, id: string): Promise<StoredAssistant> {
    const stored = await this.catalog.findStored(userId, id);
    if (stored !== null) return stored;
    const { context } = await this.catalog.find(userId, id);
    const route =
      context['agent_name'] === undefined
        ? 'its settings are those of the server'
        : 'a custom agent is changed by /api/agents/{name}';
    throw new BadRequestError(`this assistant cannot be changed here: ${route}`);
  }

  /** The content with the named fields of the request; metadata is merged. @throws {InvalidRequestError} */
  private contentOf(body: Given, before: AssistantContent): AssistantContent {
    const { graph_id, name, description, config, context, metadata } = before;
    const content = {
      graph_id,
      name: body.name ?? name,
      description: body.description ?? description,
      config: body.config ?? config,
      context: body.context ?? context,
      metadata: { ...metadata, ...body.metadata },
    };
    this.checkSettings(content);
    return content;
  }

  private checkSettings({ config, context }: AssistantContent): void {
    const configurable = config['configurable'] ?? {};
    const { model_name: model } = parse(RunContextInput, { ...configurable, ...context }, 'context');
    if (model === undefined || this.settings.models.some(({ name }) => name === model)) return;
    throw new InvalidRequestError(`context.model_name: there is no model "${model.slice(0, 100)}"`);
  }
}

type Given = Pick<Body<'update'>, 'name' | 'description' | 'config' | 'context' | 'metadata'>;

const EMPTY = { description: null, config: {}, context: {}, metadata: {} };

/** @throws {QuotaError} over a limit of the user */
function requireWritten(outcome: AssistantOutcome): StoredAssistant {
  switch (outcome.outcome) {
    case 'written':
    case 'exists':
      return outcome.assistant;
    case 'full': {
      const { maxAssistants: limit } = ASSISTANT_LIMITS;
      const use = { quota: 'assistants', limit, used: limit } as const;
      throw new QuotaError(`you have ${limit} assistants, which is the limit: delete some`, use);
    }
    case 'large': {
      const { maxBytes: limit } = ASSISTANT_LIMITS;
      const use = { quota: 'assistant-bytes', limit, used: outcome.bytes } as const;
      throw new QuotaError(
        `your assistants and their versions hold ${outcome.bytes} bytes, and with this one more than the limit of ${limit}: delete some`,
        use,
      );
    }
    case 'changed':
      throw new ConflictError('the assistant was changed or deleted meanwhile');
  }
}

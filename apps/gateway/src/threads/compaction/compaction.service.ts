import {
  ConflictError,
  type CompactReply,
  type compactionRoutes,
  InvalidRequestError,
  ModelError,
  type RouteInput,
  type StateUpdate,
  type ThreadState,
  omitUndefined,
} from '@caribou/contracts';
import type { AgentStore, ModelCatalog, ThreadKey } from '@caribou/core';
import { type Compaction, compactionUpdate, conversationTokens, planCompaction } from '@caribou/middleware';
import type { Payer, ThreadStore } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../../dependency.js';
import { SingleCalls } from '../../models/single-calls.js';
import type { GatewaySettings } from '../../settings.js';

type Body = RouteInput<typeof compactionRoutes.compact>['body'];

/** Under what usage shows these calls. */
const AGENT = 'compaction';
const MAX_AT_ONCE = 2;
const TIMEOUT_MS = 60_000;
const MAX_ANSWER_CHARS = 200_000;

/** Summaries of conversations that users ask for. */
@Injectable()
export class CompactionService {
  constructor(
    @Dependency('threadStore') private readonly threads: Pick<ThreadStore, 'getThread' | 'head' | 'updateState'>,
    @Dependency('models') private readonly models: ModelCatalog,
    @Dependency('agents') private readonly agents: Pick<AgentStore, 'read'>,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'summarization' | 'models'>,
    private readonly calls: SingleCalls,
  ) {}

  /**
   * Summarizes the older part of the conversation. The summary and the removal are one update of the state, which is refused
   * when the conversation has changed since it was read.
   *
   * @throws {ConflictError} while a run is in flight, or when the conversation has changed
   * @throws {ModelError} when the model fails; nothing is changed then
   */
  async compact(thread: ThreadKey, body: Body, apiKey: string | undefined): Promise<CompactReply> {
    const { status } = await this.threads.getThread(thread);
    if (status === 'busy') throw new ConflictError('a run is in flight: wait for it to finish or cancel it');
    const state = (await this.threads.head(thread))?.state ?? { messages: [] };
    const name = await this.modelOf(thread.userId, body);
    const request = { force: body.force ?? true, ...omitUndefined({ keep: body.keep ?? undefined }) };
    const plan = planCompaction(state, this.settings.summarization, { request, model: this.models.get(name) });
    if (plan.kind === 'none') return replyOf(thread, state, { reason: plan.reason });
    const text = await this.summarize(name, plan, { ...thread, apiKey });
    const update = (current: ThreadState): StateUpdate => {
      assertSame(state, current);
      return compactionUpdate(current, plan.cut, text);
    };
    const view = await this.threads.updateState(thread, update, { keepsTimeline: true });
    return replyOf(thread, view.state, { removed: plan.cut.removed.length, checkpointId: view.checkpointId });
  }

  private async summarize(
    name: string | undefined,
    { call }: Extract<Compaction, { kind: 'summary' }>,
    payer: Payer,
  ): Promise<string> {
    const asked = { call, payer, agent: AGENT, timeoutMs: TIMEOUT_MS, maxChars: MAX_ANSWER_CHARS };
    const text = (await this.calls.askFor(name, asked, MAX_AT_ONCE)).trim();
    if (text === '') throw new ModelError('the model wrote no summary; nothing was changed');
    return text;
  }

  /** The model that the request names, else that of summaries, else that of the agent, else the default one. */
  private async modelOf(userId: string, { model_name: asked, agent_name: agent }: Body): Promise<string | undefined> {
    if (typeof asked === 'string') {
      if (this.settings.models.some(({ name }) => name === asked)) return asked;
      throw new InvalidRequestError(`model_name: there is no model "${asked.slice(0, 100)}"`);
    }
    const ofAgent = typeof agent === 'string' ? await this.agents.read(userId, agent.toLowerCase()) : null;
    if (typeof agent === 'string' && ofAgent === null)
      throw new InvalidRequestError(`agent_name: there is no agent "${agent.slice(0, 100)}"`);
    return this.settings.summarization.model_name ?? ofAgent?.model ?? undefined;
  }
}

/** @throws {ConflictError} when the conversation is not the one that was summarized */
function assertSame(read: ThreadState, current: ThreadState): void {
  const same =
    read.summary_text === current.summary_text &&
    read.messages.length === current.messages.length &&
    read.messages.every(({ id, content }, at) => {
      const message = current.messages[at];
      return message?.id === id && JSON.stringify(message.content) === JSON.stringify(content);
    });
  if (!same) throw new ConflictError('the conversation has changed while it was summarized: try again');
}

interface Outcome {
  readonly reason?: CompactReply['reason'];
  readonly removed?: number;
  readonly checkpointId?: string;
}

const replyOf = (
  { threadId }: ThreadKey,
  { messages, summary_text }: ThreadState,
  { reason = null, removed = 0, checkpointId }: Outcome,
): CompactReply => ({
  thread_id: threadId,
  compacted: removed > 0,
  reason,
  removed_message_count: removed,
  preserved_message_count: messages.length,
  summary_updated: removed > 0,
  checkpoint_id: checkpointId ?? null,
  total_tokens: Math.round(conversationTokens(messages, summary_text)),
});

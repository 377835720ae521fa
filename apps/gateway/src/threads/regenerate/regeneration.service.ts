import {
  BEFORE_FIRST_CHECKPOINT,
  type CheckpointView,
  ConflictError,
  type EditReplayReply,
  type HumanMessage,
  NotFoundError,
  type ReplayReply,
  type RunInputMessage,
  type RunRecord,
  type SystemMessage,
  omitUndefined,
} from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { createTurnStartRemovedError, type FeedRow, type ThreadStore } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../../dependency.js';
import { replaceMessageText } from './edited-message.js';
import { findTurnInput } from './turn-input.js';

/** Maximum number of ids of replaced messages in a reply; clients hide further messages of the turn, too. */
const MAX_NAMED = 200;

type Input = readonly (HumanMessage | SystemMessage)[];

/** A turn that can be regenerated. */
interface Turn {
  readonly run: RunRecord;
  readonly input: Input;
  /** The id of the checkpoint from which the turn began. */
  readonly base: string;
  /** That checkpoint; null for the first turn of a thread. */
  readonly before: CheckpointView | null;
}

/** Creates the request with which a client can start a run that regenerates a turn. Nothing is stored here. */
@Injectable()
export class RegenerationService {
  constructor(
    @Dependency('threadStore')
    private readonly store: Pick<
      ThreadStore,
      'readFeed' | 'findFeedRow' | 'getRun' | 'getThread' | 'checkpoint' | 'history'
    >,
  ) {}

  /**
   * @throws {NotFoundError} when the thread's timeline has no such answer
   * @throws {ConflictError} while the thread is busy, or when the answer's run or the checkpoint before it is no longer stored
   */
  async regenerate(thread: ThreadKey, messageId: string): Promise<ReplayReply> {
    const row = await this.rowOf(thread, messageId, 'ai');
    const turn = await this.turnOf(thread, row);
    return replay(turn, row, { messages: turn.input, title: await this.titleOf(thread) });
  }

  /** @throws the errors of `regenerate`, for a user message */
  async edit(thread: ThreadKey, messageId: string, text: string): Promise<EditReplayReply> {
    const row = await this.rowOf(thread, messageId, 'human');
    const turn = await this.turnOf(thread, row);
    const said = turn.input.find(
      (message): message is HumanMessage => isUserMessage(message) && message.id === messageId,
    );
    if (said === undefined) throw createReplayRefusal('it is not what the run was started with');
    const edited = replaceMessageText(said, text);
    const messages = turn.input.map((message) => (message === said ? edited : message));
    const { rows } = await this.store.readFeed(thread, { limit: MAX_NAMED, runId: turn.run.run_id });
    // A thread without a title gets one from the edited message.
    const title = turn.before?.state.title === undefined ? undefined : await this.titleOf(thread);
    const { metadata, ...reply } = replay(turn, row, { messages, title });
    return {
      ...reply,
      metadata: { ...metadata, replay_kind: 'edit', edit_from_message_id: messageId, edit_message_id: edited.id },
      replacement_human_message_id: edited.id,
      source_message_ids: rows.map(({ message }) => message.id),
    };
  }

  private async rowOf(thread: ThreadKey, messageId: string, type: 'ai' | 'human'): Promise<FeedRow> {
    const row = await this.store.findFeedRow(thread, messageId);
    if (row?.message.type === type) return row;
    throw new NotFoundError(`there is no ${type === 'ai' ? 'answer' : 'user message'} with this id`);
  }

  private async turnOf(thread: ThreadKey, { runId }: FeedRow): Promise<Turn> {
    if ((await this.store.getThread(thread)).status === 'busy') throw createReplayRefusal('a run is in flight');
    if (runId === null) throw createReplayRefusal('it does not belong to a run');
    const run = await this.runOf(thread, runId);
    const base = run.fork_checkpoint_id ?? run.base_checkpoint_id ?? BEFORE_FIRST_CHECKPOINT;
    const before = await this.checkpointOf(thread, base);
    // Messages that joined the run are not in its kwargs.
    const input =
      run.kwargs_expired || run.steered > 0
        ? await this.storedInputOf(thread, run, before)
        : (run.kwargs.input?.messages ?? []).filter(isNoAnswer);
    if (!input.some(isUserMessage)) throw createReplayRefusal('its run continued an earlier one');
    return { run, input, base, before };
  }

  /** The input of a run whose kwargs have expired: the client's messages that it added to those of its base. */
  private async storedInputOf(
    thread: ThreadKey,
    { run_id, steered }: RunRecord,
    before: CheckpointView | null,
  ): Promise<Input> {
    const [end] = await this.store.history(thread, { limit: 1, metadata: { run_id } });
    if (end === undefined) throw createReplayRefusal('the end of its turn is no longer stored');
    return findTurnInput(before?.state.messages ?? [], end.state.messages, { isSteered: steered > 0 });
  }

  private async checkpointOf(thread: ThreadKey, checkpointId: string): Promise<CheckpointView | null> {
    if (checkpointId === BEFORE_FIRST_CHECKPOINT) return null;
    try {
      return await this.store.checkpoint(thread, checkpointId);
    } catch (error) {
      if (error instanceof NotFoundError) throw createTurnStartRemovedError(checkpointId, error);
      throw error;
    }
  }

  private async runOf(thread: ThreadKey, runId: string): Promise<RunRecord> {
    try {
      return await this.store.getRun(thread, runId);
    } catch (error) {
      if (error instanceof NotFoundError) throw createReplayRefusal('its run is no longer stored', error);
      throw error;
    }
  }

  private async titleOf(thread: ThreadKey): Promise<string | undefined> {
    return (await this.store.getThread(thread)).values.title;
  }
}

const isUserMessage = (message: Input[number]): boolean => message.type === 'human';

/**
 * Whether the message is not an answer to a tool call. Such an answer belongs to the turn before, and is not repeated.
 */
const isNoAnswer = (message: RunInputMessage): message is HumanMessage | SystemMessage => message.type !== 'tool';

const createReplayRefusal = (reason: string, cause?: unknown): ConflictError =>
  new ConflictError(`this message cannot be regenerated: ${reason}`, { cause });

/**
 * The reply with the request to send. It contains the thread's current title, because the checkpoint has an older one.
 */
function replay(
  { run, base }: Turn,
  { message }: FeedRow,
  { messages, title }: { readonly messages: Input; readonly title: string | undefined },
): ReplayReply {
  return {
    input: { messages: [...messages], ...omitUndefined({ title }) },
    checkpoint: { checkpoint_ns: '', checkpoint_id: base, checkpoint_map: null },
    metadata: {
      regenerate_from_message_id: message.id,
      regenerate_from_run_id: run.run_id,
      regenerate_checkpoint_id: base,
    },
    target_run_id: run.run_id,
  };
}

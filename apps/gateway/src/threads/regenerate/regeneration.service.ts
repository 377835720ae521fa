import {
  BEFORE_FIRST_CHECKPOINT,
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
import type { FeedRow, ThreadKey, ThreadStore } from '@caribou/core';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../../dependency.js';
import { replaceMessageText } from './edited-message.js';

/** Messages of a replaced turn that are named; the others are hidden all the same. */
const MAX_NAMED = 200;

type Input = readonly (HumanMessage | SystemMessage)[];

/** A turn that can be regenerated. */
interface Turn {
  readonly run: RunRecord;
  readonly input: Input;
  /** The checkpoint that the turn began at. */
  readonly base: string;
}

/** Makes the request that starts a run which regenerates a turn. Nothing is written here: starting the run does that. */
@Injectable()
export class RegenerationService {
  constructor(
    @Dependency('threadStore')
    private readonly store: Pick<ThreadStore, 'readFeed' | 'findFeedRow' | 'getRun' | 'getThread' | 'checkpoint'>,
  ) {}

  /**
   * @throws {NotFoundError} when people see no such answer in the thread
   * @throws {ConflictError} while the thread is busy, or when the answer's run is not kept any more
   */
  async regenerate(thread: ThreadKey, messageId: string): Promise<ReplayReply> {
    const row = await this.rowOf(thread, messageId, 'ai');
    const turn = await this.turnOf(thread, row);
    return replay(turn, row, { messages: turn.input, title: await this.titleOf(thread) });
  }

  /** @throws as `regenerate`, for a person's message */
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
    const title = (await this.hadTitle(thread, turn)) ? await this.titleOf(thread) : undefined;
    const { metadata, ...made } = replay(turn, row, { messages, title });
    return {
      ...made,
      metadata: { ...metadata, replay_kind: 'edit', edit_from_message_id: messageId, edit_message_id: edited.id },
      replacement_human_message_id: edited.id,
      source_message_ids: rows.map(({ message }) => message.id),
    };
  }

  private async rowOf(thread: ThreadKey, messageId: string, type: 'ai' | 'human'): Promise<FeedRow> {
    const row = await this.store.findFeedRow(thread, messageId);
    if (row?.message.type === type) return row;
    throw new NotFoundError(`there is no ${type === 'ai' ? 'answer' : 'message of a person'} with this id`);
  }

  private async turnOf(thread: ThreadKey, { runId }: FeedRow): Promise<Turn> {
    if ((await this.store.getThread(thread)).status === 'busy') throw createReplayRefusal('a run is in flight');
    if (runId === null) throw createReplayRefusal('it was written beside any run');
    const run = await this.runOf(thread, runId);
    const input = (run.kwargs.input?.messages ?? []).filter(isNoAnswer);
    if (!input.some(isUserMessage)) throw createReplayRefusal('its run went on from an earlier one');
    return { run, input, base: run.fork_checkpoint_id ?? run.base_checkpoint_id ?? BEFORE_FIRST_CHECKPOINT };
  }

  private async runOf(thread: ThreadKey, runId: string): Promise<RunRecord> {
    try {
      return await this.store.getRun(thread, runId);
    } catch (error) {
      if (error instanceof NotFoundError) throw createReplayRefusal('its run is not kept any more', error);
      throw error;
    }
  }

  private async titleOf(thread: ThreadKey): Promise<string | undefined> {
    return (await this.store.getThread(thread)).values.title;
  }

  /** A thread that had no name yet is to be named after the edited words. */
  private async hadTitle(thread: ThreadKey, { base }: Turn): Promise<boolean> {
    if (base === BEFORE_FIRST_CHECKPOINT) return false;
    return (await this.store.checkpoint(thread, base)).state.title !== undefined;
  }
}

const isUserMessage = (message: Input[number]): boolean => message.type === 'human';

/** An answer to a call belongs to the turn before: there, the model is told that the call has none. */
const isNoAnswer = (message: RunInputMessage): message is HumanMessage | SystemMessage => message.type !== 'tool';

const createReplayRefusal = (reason: string, cause?: unknown): ConflictError =>
  new ConflictError(`this message cannot be made anew: ${reason}`, { cause });

/** A renamed thread keeps its name: the checkpoint has the one of then. */
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

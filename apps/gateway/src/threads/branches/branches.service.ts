import { type BranchReply, type CloneMode, ConflictError, newId, NotFoundError } from '@caribou/contracts';
import type { FeedRow, Logger, ThreadKey, ThreadStore } from '@caribou/core';
import { FileRefusedError, type UserFiles } from '@caribou/files';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../../dependency.js';

/** The thread at the end of a turn. */
interface Cut {
  readonly checkpointId: string;
  /** Absent: the turn is the last one, and the whole thread is meant. */
  readonly lastSeq?: number;
}

/** Metadata of a thread that is a matter of the thread itself. */
const OWN_KEYS = ['deerflow_pinned'];

/** New threads that go on from a turn of another one. */
@Injectable()
export class BranchesService {
  constructor(
    @Dependency('threadStore')
    private readonly store: Pick<
      ThreadStore,
      'getThread' | 'readFeed' | 'findFeedRow' | 'history' | 'copyThread' | 'updateState'
    >,
    @Dependency('userFiles') private readonly files: Pick<UserFiles, 'copyAll'>,
    @Dependency('logger') private readonly logger: Logger,
  ) {}

  /**
   * The state and the messages are copied in one step; files after that, as far as that goes.
   *
   * @throws {NotFoundError} when people see no such answer in the thread
   * @throws {ConflictError} while a run is in flight, or when the turn's end is not kept any more
   */
  async branch(
    thread: ThreadKey,
    messageId: string,
    { title, onCopied }: { readonly title: string | undefined; readonly onCopied: (bytes: number) => void },
  ): Promise<BranchReply> {
    const row = await this.store.findFeedRow(thread, messageId);
    if (row?.message.type !== 'ai') throw new NotFoundError('there is no answer with this id');
    const cut = await this.cutAfter(thread, row);
    const branch = { userId: thread.userId, threadId: newId() };
    const { copiedBytes } = await this.store.copyThread(thread, branch.threadId, {
      metadata: await this.metadataOf(thread, messageId, cut),
      ...(cut.lastSeq === undefined ? {} : { at: { checkpointId: cut.checkpointId, lastSeq: cut.lastSeq } }),
    });
    onCopied(copiedBytes);
    if (title !== undefined) await this.store.updateState(branch, { title });
    return {
      thread_id: branch.threadId,
      parent_thread_id: thread.threadId,
      parent_checkpoint_id: cut.checkpointId,
      branched_from_message_id: messageId,
      workspace_clone_mode:
        cut.lastSeq === undefined ? await this.cloneFiles(thread, branch) : 'skipped_historical_turn',
      history_seed_mode: 'seeded',
    };
  }

  private async cutAfter(thread: ThreadKey, row: FeedRow): Promise<Cut> {
    const { runId } = row;
    const [newest, ofTurn, record] = await Promise.all([
      this.store.readFeed(thread, { limit: 1 }),
      runId === null ? undefined : this.store.readFeed(thread, { limit: 1, runId }),
      this.store.getThread(thread),
    ]);
    const last = ofTurn?.rows[0] ?? row;
    if (last.seq === newest.rows[0]?.seq && record.head !== null) return { checkpointId: record.head };
    const [end] = runId === null ? [] : await this.store.history(thread, { limit: 1, metadata: { run_id: runId } });
    if (end === undefined) throw new ConflictError('the end of this turn is not kept any more');
    return { checkpointId: end.checkpointId, lastSeq: last.seq };
  }

  private async metadataOf(thread: ThreadKey, messageId: string, { checkpointId }: Cut) {
    const { metadata } = await this.store.getThread(thread);
    const kept = Object.entries(metadata).filter(([key]) => !OWN_KEYS.includes(key));
    return {
      ...Object.fromEntries(kept),
      deerflow_branch: true,
      branch_parent_thread_id: thread.threadId,
      branch_parent_message_id: messageId,
      branch_parent_checkpoint_id: checkpointId,
    };
  }

  /** The thread is there by now: that its files are not is told, and no reason to fail. */
  private async cloneFiles(thread: ThreadKey, branch: ThreadKey): Promise<CloneMode> {
    try {
      const { files, complete } = await this.files.copyAll(thread, branch);
      if (!complete) return 'failed';
      return files === 0 ? 'not_found' : 'current_thread_best_effort';
    } catch (error) {
      if (!(error instanceof FileRefusedError)) throw error;
      const fields = { event: 'branch.files', outcome: 'error', threadId: branch.threadId, error };
      this.logger.warn(fields, 'the files of a thread could not be copied');
      return 'failed';
    }
  }
}

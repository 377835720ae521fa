import { type BranchReply, type CloneMode, ConflictError, newId, NotFoundError } from '@caribou/contracts';
import type { Logger, ThreadKey } from '@caribou/core';
import type { CopiedThread, FeedRow, ThreadStore } from '@caribou/state';
import { FileRefusedError, type UserFiles } from '@caribou/files';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../../dependency.js';

/** The point at the end of a turn at which a thread is branched. */
interface Cut {
  readonly checkpointId: string;
  /** The last message of the turn; absent for the last turn, after which the whole thread is copied. */
  readonly lastSeq?: number;
}

/** Metadata keys of a thread that its branches do not inherit. */
const OWN_KEYS = ['deerflow_pinned'];

/** Creates threads that continue from a turn of another thread. */
@Injectable()
export class BranchesService {
  constructor(
    @Dependency('threadStore')
    private readonly store: Pick<
      ThreadStore,
      'getThread' | 'readFeed' | 'findFeedRow' | 'history' | 'copyThread' | 'updateState'
    >,
    @Dependency('userFiles') private readonly files: Pick<UserFiles, 'copyAll' | 'settle'>,
    @Dependency('logger') private readonly logger: Logger,
  ) {}

  /**
   * Copies the state and the messages in one step, with the files if these are in an object store; on a volume they are copied
   * afterwards, as far as possible.
   *
   * @throws {NotFoundError} when the thread's timeline has no such answer
   * @throws {ConflictError} while a run is in flight, or when the checkpoint at the turn's end is no longer stored
   */
  async branch(
    thread: ThreadKey,
    messageId: string,
    {
      title,
      onCopied,
    }: {
      readonly title: string | undefined;
      readonly onCopied: (copy: Pick<CopiedThread, 'copiedBytes' | 'threads'>) => void;
    },
  ): Promise<BranchReply> {
    const row = await this.store.findFeedRow(thread, messageId);
    if (row?.message.type !== 'ai') throw new NotFoundError('there is no answer with this id');
    const cut = await this.cutAfter(thread, row);
    const branch = { userId: thread.userId, threadId: newId() };
    await this.files.settle(thread);
    const copy = await this.store.copyThread(thread, branch.threadId, {
      metadata: await this.metadataOf(thread, messageId, cut),
      ...(cut.lastSeq === undefined ? {} : { at: { checkpointId: cut.checkpointId, lastSeq: cut.lastSeq } }),
    });
    onCopied(copy);
    if (title !== undefined) await this.store.updateState(branch, { title });
    return {
      thread_id: branch.threadId,
      parent_thread_id: thread.threadId,
      parent_checkpoint_id: cut.checkpointId,
      branched_from_message_id: messageId,
      workspace_clone_mode: await this.cloneFiles(thread, branch, { cut, copy }),
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
    if (end === undefined) throw new ConflictError('the end of this turn is no longer stored');
    return { checkpointId: end.checkpointId, lastSeq: last.seq };
  }

  private async metadataOf(thread: ThreadKey, messageId: string, { checkpointId }: Cut) {
    const { metadata } = await this.store.getThread(thread);
    const inherited = Object.entries(metadata).filter(([key]) => !OWN_KEYS.includes(key));
    return {
      ...Object.fromEntries(inherited),
      deerflow_branch: true,
      branch_parent_thread_id: thread.threadId,
      branch_parent_message_id: messageId,
      branch_parent_checkpoint_id: checkpointId,
    };
  }

  /** Copies the files, unless that is done. A failure is reported in the reply instead of thrown, because the new thread already exists. */
  private async cloneFiles(
    thread: ThreadKey,
    branch: ThreadKey,
    { cut, copy }: { readonly cut: Cut; readonly copy: Pick<CopiedThread, 'files'> },
  ): Promise<CloneMode> {
    const isHistorical = cut.lastSeq !== undefined;
    if (copy.files !== null) return cloneModeOf(copy.files, isHistorical);
    const { copyAll } = this.files;
    if (isHistorical || copyAll === null) return 'skipped_historical_turn';
    try {
      const { files, complete } = await copyAll(thread, branch);
      return complete ? cloneModeOf(files, isHistorical) : 'failed';
    } catch (error) {
      if (!(error instanceof FileRefusedError)) throw error;
      const fields = { event: 'branch.files', outcome: 'error', threadId: branch.threadId, error };
      this.logger.warn(fields, 'the files of a thread could not be copied');
      return 'failed';
    }
  }
}

function cloneModeOf(files: number, isHistorical: boolean): CloneMode {
  if (files === 0) return 'not_found';
  return isHistorical ? 'historical_turn' : 'current_thread_best_effort';
}

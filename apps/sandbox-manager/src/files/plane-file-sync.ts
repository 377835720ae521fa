import { AppError, ConflictError, FencedError, UnavailableError } from '@caribou/contracts';
import {
  type Clock,
  type FileGenerations,
  type FileHead,
  type FileWriter,
  KeyedMutex,
  type Logger,
  settlesWithin,
  type ThreadKey,
} from '@caribou/core';
import { type Deferred, type Published, publishFiles, type WorkingCopies } from '@caribou/files';
import { BackgroundPublication } from './background-publication.js';
import type { ThreadFileSync } from './thread-file-sync.js';

export interface PlaneFileSyncOptions {
  readonly copies: WorkingCopies;
  readonly generations: FileGenerations;
  readonly writer: FileWriter;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A call waits for this many changed bytes to be stored; more are stored in the background. */
  readonly maxDirectBytes: number;
  /** The longest time for which a call waits for the store, in milliseconds. */
  readonly maxWaitMs: number;
}

const keyOf = ({ userId, threadId }: ThreadKey): string => `${userId}/${threadId}`;

/** What this process knows of the copy of a thread's files. */
interface CopyState {
  /** The head that the copy was last made equal to; undefined before the first time, null for no files. */
  at: FileHead | null | undefined;
  background: BackgroundPublication | undefined;
  notice: string | undefined;
}

const isSameHead = (one: FileHead | null | undefined, other: FileHead | null): boolean =>
  one === null || one === undefined
    ? one === other
    : other !== null && one.home === other.home && one.generation === other.generation;

/**
 * Carries files between the copies of this machine and the object store.
 *
 *  S1  before a call begins, the copy has what every earlier commit of anybody contains; a change of this thread that is being stored in
 *      the background does not delay the next call
 *  S2  a call's result is final when what it changed is stored, or when Redis says since when changes are not: after too many bytes,
 *      or when the store does not answer in time
 *  S3  changes that are not stored are stored in the background, however often that fails; `settle` waits for it
 *  S4  only the manager that the thread is bound to commits, so one that lost its thread changes nothing
 */
export class PlaneFileSync implements ThreadFileSync {
  private readonly states = new Map<string, CopyState>();
  private readonly lanes = new KeyedMutex();

  constructor(private readonly options: PlaneFileSyncOptions) {}

  async refresh(thread: ThreadKey): Promise<void> {
    const state = this.stateOf(thread);
    const head = await this.options.generations.head(thread);
    if (isSameHead(state.at, head)) return;
    await this.lanes.run(keyOf(thread), async () => {
      if (isSameHead(state.at, head)) return;
      const { files, bytes, removed, ms } = await this.options.copies.refresh(thread, head);
      this.log(thread, 'files.refresh', { files, bytes, removed, durationMs: ms });
      const isFirst = state.at === undefined;
      state.at = head;
      const holder = head?.unpublished?.managerId;
      if (isFirst || (holder !== undefined && holder !== this.options.writer.managerId))
        await this.adopt(thread, isFirst);
    });
  }

  /** Takes over what an earlier manager of the thread has left, or says that it is lost. */
  private async adopt(thread: ThreadKey, isFirst: boolean): Promise<void> {
    const state = this.stateOf(thread);
    const { writer, generations, logger } = this.options;
    // Changes that an earlier process of this machine has left, and files from before there was an object store.
    const { head } = await this.publishAll(thread, isFirst && state.at === null);
    if (head?.unpublished === undefined || head.unpublished.managerId === writer.managerId) return;
    if (head.unpublished.machine !== writer.machine) {
      state.notice = noticeOf(head.unpublished.sinceMs);
      const { userId, threadId } = thread;
      const reason = state.notice.trim();
      logger.error({ event: 'files.lost', userId, threadId, reason }, 'changes of files are lost');
    }
    const { trees, bytes, files } = head;
    const { committed, head: newest } = await generations.commit(thread, {
      expected: head,
      trees,
      bytes,
      files,
      writer,
    });
    if (committed) state.at = newest;
  }

  async publish(thread: ThreadKey, paths?: readonly string[]): Promise<void> {
    const state = this.stateOf(thread);
    if (state.background !== undefined) {
      state.background.repeat();
      // The publication under way may have seen these changes or not, and says at its end that everything is stored.
      await this.options.generations.noteUnpublished(thread, this.options.writer);
      return;
    }
    const work = this.lanes.run(keyOf(thread), () => this.publishOnce(thread, paths));
    const { maxWaitMs, clock } = this.options;
    if (await settlesWithin(work, maxWaitMs, clock)) {
      await work.catch((error: unknown) => this.onFailure(thread, error));
      return;
    }
    await this.continueLater(
      thread,
      work.then(() => undefined),
    );
  }

  async settle(thread: ThreadKey, timeoutMs: number): Promise<boolean> {
    const work = this.settleNow(thread);
    if (await settlesWithin(work, timeoutMs, this.options.clock)) return work;
    throw new UnavailableError(`the files of the thread were not stored within ${timeoutMs} ms`, {
      details: { dependency: 'object store' },
    });
  }

  private async settleNow(thread: ThreadKey): Promise<boolean> {
    const { background } = this.stateOf(thread);
    await background?.settled();
    const { outcome } = await this.lanes.run(keyOf(thread), () => this.publishAll(thread, false));
    return outcome === 'published' || background !== undefined;
  }

  async machineElsewhere(thread: ThreadKey): Promise<string | undefined> {
    const head = await this.options.generations.head(thread);
    return head?.machine === this.options.writer.machine ? undefined : head?.machine;
  }

  takeNotice(thread: ThreadKey): string | undefined {
    const state = this.stateOf(thread);
    const { notice } = state;
    state.notice = undefined;
    return notice;
  }

  /** Runs the work in the lane of the thread, and drops what is known of its copy. */
  async whenIdle(thread: ThreadKey, work: () => Promise<void>): Promise<void> {
    await this.lanes.run(keyOf(thread), work);
    this.forget(thread);
  }

  /** Drops what is known of a thread that this manager does not hold any more. */
  forget(thread: ThreadKey): void {
    const state = this.states.get(keyOf(thread));
    state?.background?.stop();
    this.states.delete(keyOf(thread));
  }

  private async publishOnce(thread: ThreadKey, paths: readonly string[] | undefined): Promise<void> {
    const state = this.stateOf(thread);
    const { writer, maxDirectBytes } = this.options;
    const head = state.at ?? null;
    const request = { thread, writer, head, maxDirectBytes, ...(paths === undefined ? {} : { paths }) };
    const published = await publishFiles(this.options, request);
    if (published.outcome === 'deferred') this.defer(thread, published);
    else await this.onPublished(thread, published);
  }

  /** However much has changed. In the lane of the thread. */
  private async publishAll(thread: ThreadKey, isImport: boolean): Promise<Published> {
    const state = this.stateOf(thread);
    const { writer } = this.options;
    const request = { thread, writer, head: state.at ?? null, maxDirectBytes: Number.POSITIVE_INFINITY, isImport };
    const outcome = await publishFiles(this.options, request);
    const published = outcome.outcome === 'deferred' ? await outcome.finish() : outcome;
    state.at = published.head;
    return published;
  }

  private async onPublished(thread: ThreadKey, published: Published): Promise<void> {
    const state = this.stateOf(thread);
    state.at = published.head;
    if (published.outcome !== 'published') return;
    const { changed, bytes, isPartial } = published;
    this.log(thread, 'files.publish', { changed, bytes });
    // Files that were written while they were read: what writes them may go on for long.
    if (isPartial) await this.continueLater(thread, undefined);
  }

  private defer(thread: ThreadKey, { bytes, finish }: Deferred): void {
    this.log(thread, 'files.defer', { bytes });
    this.startBackground(thread, () =>
      this.lanes.run(keyOf(thread), async () => this.onPublished(thread, await finish())),
    );
  }

  /** A failed publication is repeated, unless the thread does not belong to this manager any more. */
  private async onFailure(thread: ThreadKey, error: unknown): Promise<void> {
    if (!(error instanceof AppError) || error instanceof FencedError) throw error;
    const { userId, threadId } = thread;
    this.options.logger.warn(
      { event: 'files.publish', outcome: 'error', userId, threadId, error },
      'files not stored yet',
    );
    if (error instanceof ConflictError && (await this.options.generations.head(thread)) === null) throw error;
    await this.continueLater(thread, undefined);
  }

  private async continueLater(thread: ThreadKey, running: Promise<void> | undefined): Promise<void> {
    // Before anything that may fail, as nobody else handles an error of what is running.
    this.startBackground(thread, () => running ?? this.publishInBackground(thread));
    await this.options.generations.noteUnpublished(thread, this.options.writer);
  }

  private async publishInBackground(thread: ThreadKey): Promise<void> {
    await this.lanes.run(keyOf(thread), () => this.publishAll(thread, false));
  }

  private startBackground(thread: ThreadKey, first: () => Promise<void>): void {
    const state = this.stateOf(thread);
    if (state.background !== undefined) {
      state.background.repeat();
      return;
    }
    const { clock, logger } = this.options;
    const background = new BackgroundPublication({
      clock,
      onError: (error) =>
        logger.warn({ event: 'files.publish', outcome: 'error', ...thread, error }, 'files not stored yet'),
      onEnd: () => {
        if (state.background === background) state.background = undefined;
      },
    });
    state.background = background;
    background.start(first, async () => {
      await this.options.generations.noteUnpublished(thread, this.options.writer);
      await this.publishInBackground(thread);
    });
  }

  private stateOf(thread: ThreadKey): CopyState {
    const key = keyOf(thread);
    let state = this.states.get(key);
    if (state === undefined) {
      state = { at: undefined, background: undefined, notice: undefined };
      this.states.set(key, state);
    }
    return state;
  }

  private log({ userId, threadId }: ThreadKey, event: string, fields: Readonly<Record<string, number>>): void {
    this.options.logger.debug({ event, userId, threadId, ...fields }, 'files of a thread');
  }
}

const noticeOf = (sinceMs: number): string =>
  `[files that were changed since ${new Date(sinceMs).toISOString()} are missing: the machine that had them is gone]\n`;

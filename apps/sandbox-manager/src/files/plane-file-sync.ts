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
import { type CopyState, isSameHead, keyOf } from './copy-state.js';
import { FileHandover } from './file-handover.js';
import type { MachineElsewhere, ThreadFileSync } from './thread-file-sync.js';

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
  /** How long a thread waits for another machine that has changes which are not stored, in milliseconds. */
  readonly machineWaitMs: number;
}

/** Pause before files are read again that changed while they were read, in milliseconds. */
const PARTIAL_MS = 1_000;

/**
 * Carries files between the copies of this machine and the object store.
 *
 *  S1  before a call begins, the copy has what every earlier commit of anybody contains; a change of this thread that is being stored in
 *      the background does not delay the next call
 *  S2  a call's result is final when what it changed is stored, or when Redis says since when changes are not: after too many bytes,
 *      or when the store does not answer in time
 *  S3  changes that are not stored are stored in the background, however often that fails; `settle` waits for it
 *  S4  before another machine works on a thread, the one with changes that are not stored is waited for; what a machine has left on its
 *      disk when another one took the thread over is dropped
 *  S5  only the manager that the thread is bound to commits, so one that lost its thread changes nothing; a thread of one that has ended is
 *      bound to another one of its machine (left-changes.ts)
 */
export class PlaneFileSync implements ThreadFileSync {
  private readonly states = new Map<string, CopyState>();
  private readonly lanes = new KeyedMutex();
  private readonly handover: FileHandover;

  constructor(private readonly options: PlaneFileSyncOptions) {
    this.handover = new FileHandover(options);
  }

  async refresh(thread: ThreadKey): Promise<void> {
    const state = this.stateOf(thread);
    const { generations } = this.options;
    if (isSameHead(state.at, await generations.head(thread))) return;
    await this.lanes.run(keyOf(thread), async () => {
      // Another call may have brought or published newer files meanwhile: the copy must not go back to the head of before.
      const head = await generations.head(thread);
      if (isSameHead(state.at, head)) return;
      if (state.at !== undefined) return await this.bring(thread, head);
      try {
        await this.begin(thread, head);
      } catch (error) {
        // The next call begins again: what an earlier manager has left is neither stored nor reported yet.
        state.at = undefined;
        throw error;
      }
    });
  }

  private async bring(thread: ThreadKey, head: FileHead | null): Promise<void> {
    const { files, bytes, removed, ms } = await this.options.copies.refresh(thread, head);
    this.log(thread, 'files.refresh', { files, bytes, removed, durationMs: ms });
    this.stateOf(thread).at = head;
  }

  /** The first time in this process, which may follow another one of this machine, or another machine. */
  private async begin(thread: ThreadKey, known: FileHead | null): Promise<void> {
    const state = this.stateOf(thread);
    const { generations, writer } = this.options;
    const { head, notice } = await this.handover.takeOver(thread, known);
    state.notice ??= notice;
    await this.bring(thread, head);
    // Changes that an earlier process of this machine has left, and files from before there was an object store.
    const published = await this.publishAll(thread, head === null);
    if (published.head?.machine === undefined) return this.recordUse(thread, published.head);
    const holder = published.head.unpublished?.managerId;
    if (holder === undefined || holder === writer.managerId) return;
    const { trees, bytes, files } = published.head;
    const commit = { expected: published.head, trees, bytes, files, writer };
    const { committed, head: newest } = await generations.commit(thread, commit);
    if (committed && isSameHead(state.at, published.head)) state.at = newest;
  }

  /**
   * Records, before the first call, that there is nothing here which is not stored: when that call is cut off, what it has written is a
   * change since then, which a rollback drops, and not files from before there was an object store.
   */
  private async recordUse(thread: ThreadKey, head: FileHead | null): Promise<void> {
    const { generations, writer } = this.options;
    const { trees, bytes, files } = head ?? { trees: {}, bytes: 0, files: 0 };
    const reply = await generations.commit(thread, { expected: head, trees, bytes, files, writer });
    // When a person was faster, the next refresh brings the files here.
    if (reply.committed) this.stateOf(thread).at = reply.head;
  }

  async publish(thread: ThreadKey, paths?: readonly string[]): Promise<void> {
    const state = this.stateOf(thread);
    if (state.background?.repeat() === true) {
      // The publication under way may have seen these changes or not; if it has not committed yet, it says that changes remain.
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

  async resume(thread: ThreadKey): Promise<void> {
    if (this.stateOf(thread).background !== undefined) return;
    await this.refresh(thread);
    this.startBackground(thread, () => this.publishInBackground(thread));
  }

  async machineElsewhere(thread: ThreadKey): Promise<MachineElsewhere | undefined> {
    const head = await this.options.generations.head(thread);
    const { machineWaitMs: waitMs, writer } = this.options;
    const machine = head?.unpublished?.machine ?? head?.machine;
    if (machine === undefined || machine === writer.machine) return undefined;
    return { machine, ...(head?.unpublished === undefined ? {} : { waitMs }) };
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
    const hasMore = () => state.background?.isRepeated === true;
    const request = { thread, writer, head, maxDirectBytes, hasMore, ...(paths === undefined ? {} : { paths }) };
    const published = await publishFiles(this.options, request);
    if (published.outcome === 'deferred') this.defer(thread, published);
    else await this.onPublished(thread, published);
  }

  /** However much has changed. In the lane of the thread. */
  private async publishAll(thread: ThreadKey, isImport: boolean): Promise<Published> {
    const state = this.stateOf(thread);
    const { writer } = this.options;
    const hasMore = () => state.background?.isRepeated === true;
    const maxDirectBytes = Number.POSITIVE_INFINITY;
    const request = { thread, writer, head: state.at ?? null, maxDirectBytes, isImport, hasMore };
    const outcome = await publishFiles(this.options, request);
    const published = outcome.outcome === 'deferred' ? await outcome.finish() : outcome;
    this.noteEqual(state, published);
    return published;
  }

  private async onPublished(thread: ThreadKey, published: Published): Promise<void> {
    const state = this.stateOf(thread);
    this.noteEqual(state, published);
    if (published.outcome !== 'published') return;
    const { changed, bytes, isPartial } = published;
    this.log(thread, 'files.publish', { changed, bytes });
    // Files that were written while they were read: what writes them may go on for long.
    if (isPartial) await this.continueLater(thread, undefined);
  }

  /** A copy that lacks what others have changed meanwhile is at the former head, so that the next refresh brings it. */
  private noteEqual(state: CopyState, { head, isEqual }: Published): void {
    if (isEqual) state.at = head;
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
    // It is awaited by the background publication, which begins after the note that it removes at its end.
    running?.catch(() => undefined);
    try {
      await this.options.generations.noteUnpublished(thread, this.options.writer);
    } finally {
      this.startBackground(thread, () => running ?? this.publishInBackground(thread));
    }
  }

  private async publishInBackground(thread: ThreadKey): Promise<void> {
    const published = await this.lanes.run(keyOf(thread), () => this.publishAll(thread, false));
    if (published.outcome !== 'published' || !published.isPartial) return;
    // Files that were written while they were read are published again after a pause.
    await this.options.clock.sleep(PARTIAL_MS);
    this.stateOf(thread).background?.repeat();
  }

  private startBackground(thread: ThreadKey, first: () => Promise<void>): void {
    const state = this.stateOf(thread);
    if (state.background?.repeat() === true) return;
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
    const whole = (work: () => Promise<void>) => async (): Promise<void> => {
      await work();
      await this.lanes.run(keyOf(thread), () => this.removeNote(thread, background));
    };
    const again = async (): Promise<void> => {
      await this.options.generations.noteUnpublished(thread, this.options.writer);
      await this.publishInBackground(thread);
    };
    background.start(whole(first), whole(again));
  }

  /** A publication that found nothing to store has not removed the note that there are changes. In the lane of the thread. */
  private async removeNote(thread: ThreadKey, background: BackgroundPublication): Promise<void> {
    const { generations, writer } = this.options;
    const head = await generations.head(thread);
    if (head?.unpublished?.managerId !== writer.managerId || background.isRepeated) return;
    const state = this.stateOf(thread);
    const { trees, bytes, files } = head;
    const { committed, head: newest } = await generations.commit(thread, {
      expected: head,
      trees,
      bytes,
      files,
      writer,
    });
    if (committed && isSameHead(state.at, head)) state.at = newest;
    // Somebody else has committed meanwhile: the note is removed by another publication.
    if (!committed) background.repeat();
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

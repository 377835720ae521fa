import { AppError, ConflictError, FencedError } from '@caribou/contracts';
import {
  type Clock,
  type FileGenerations,
  type FileWriter,
  type Logger,
  settlesWithin,
  type ThreadKey,
} from '@caribou/core';
import { type Deferred, type Published, publishFiles, type WorkingCopies } from '@caribou/files';
import { BackgroundPublication } from './background-publication.js';
import { type CopyState, isSameHead, logFiles } from './copy-state.js';
import type { CopyStates } from './copy-states.js';

export interface PublicationsOptions {
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

/** Pause before files are read again that changed while they were read, in milliseconds. */
const PARTIAL_MS = 1_000;

/** Publishes the changes of copies: while a call waits for it, or in the background (S2, S3 of plane-file-sync.ts). */
export class Publications {
  constructor(
    private readonly options: PublicationsOptions,
    private readonly states: CopyStates,
  ) {}

  /** See ThreadFileSync. */
  async publish(thread: ThreadKey, paths?: readonly string[]): Promise<void> {
    const state = this.states.of(thread);
    if (state.background?.repeat() === true) {
      // The publication under way may have seen these changes or not; if it has not committed yet, it says that changes remain.
      await this.options.generations.noteUnpublished(thread, this.options.writer);
      return;
    }
    const work = this.states.inLane(thread, () => this.publishOnce(thread, paths));
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

  /** Publishes everything in the background, unless that is under way. */
  startAll(thread: ThreadKey): void {
    this.startBackground(thread, () => this.publishInBackground(thread));
  }

  private async publishOnce(thread: ThreadKey, paths: readonly string[] | undefined): Promise<void> {
    const state = this.states.of(thread);
    const { writer, maxDirectBytes } = this.options;
    const head = state.at ?? null;
    const hasMore = () => state.background?.isRepeated === true;
    const request = { thread, writer, head, maxDirectBytes, hasMore, ...(paths === undefined ? {} : { paths }) };
    const published = await publishFiles(this.options, request);
    if (published.outcome === 'deferred') this.defer(thread, published);
    else await this.onPublished(thread, published);
  }

  /** However much has changed. In the lane of the thread. Errors as publishFiles. */
  async publishAll(thread: ThreadKey, isImport: boolean): Promise<Published> {
    const state = this.states.of(thread);
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
    const state = this.states.of(thread);
    this.noteEqual(state, published);
    if (published.outcome !== 'published') return;
    const { changed, bytes, isPartial } = published;
    logFiles(this.options.logger, thread, 'files.publish', { changed, bytes });
    // Files that were written while they were read: what writes them may go on for long.
    if (isPartial) await this.continueLater(thread, undefined);
  }

  /** A copy that lacks what others have changed meanwhile is at the former head, so that the next refresh brings it. */
  private noteEqual(state: CopyState, { head, isEqual }: Published): void {
    if (isEqual) state.at = head;
  }

  private defer(thread: ThreadKey, { bytes, finish }: Deferred): void {
    logFiles(this.options.logger, thread, 'files.defer', { bytes });
    this.startBackground(thread, () =>
      this.states.inLane(thread, async () => this.onPublished(thread, await finish())),
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
    const published = await this.states.inLane(thread, () => this.publishAll(thread, false));
    if (published.outcome !== 'published' || !published.isPartial) return;
    // Files that were written while they were read are published again after a pause.
    await this.options.clock.sleep(PARTIAL_MS);
    this.states.of(thread).background?.repeat();
  }

  private startBackground(thread: ThreadKey, first: () => Promise<void>): void {
    const state = this.states.of(thread);
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
      await this.states.inLane(thread, () => this.removeNote(thread, background));
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
    const state = this.states.of(thread);
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
}

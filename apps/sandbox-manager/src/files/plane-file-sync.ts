import { UnavailableError } from '@caribou/contracts';
import { type FileHead, settlesWithin, type ThreadKey } from '@caribou/core';
import { isSameHead, logFiles } from './copy-state.js';
import { CopyStates } from './copy-states.js';
import { FileHandover } from './file-handover.js';
import { Publications, type PublicationsOptions } from './publications.js';
import type { MachineElsewhere, ThreadFileSync } from './thread-file-sync.js';

export interface PlaneFileSyncOptions extends PublicationsOptions {
  /** How long a thread waits for another machine that has changes which are not stored, in milliseconds. */
  readonly machineWaitMs: number;
}

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
  private readonly states = new CopyStates();
  private readonly handover: FileHandover;
  private readonly publications: Publications;

  constructor(private readonly options: PlaneFileSyncOptions) {
    this.handover = new FileHandover(options);
    this.publications = new Publications(options, this.states);
  }

  async refresh(thread: ThreadKey): Promise<void> {
    const state = this.states.of(thread);
    const { generations } = this.options;
    if (isSameHead(state.at, await generations.head(thread))) return;
    await this.states.inLane(thread, async () => {
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
    logFiles(this.options.logger, thread, 'files.refresh', { files, bytes, removed, durationMs: ms });
    this.states.of(thread).at = head;
  }

  /** The first time in this process, which may follow another one of this machine, or another machine. */
  private async begin(thread: ThreadKey, known: FileHead | null): Promise<void> {
    const state = this.states.of(thread);
    const { generations, writer } = this.options;
    const { head, notice } = await this.handover.takeOver(thread, known);
    state.notice ??= notice;
    await this.bring(thread, head);
    // Changes that an earlier process of this machine has left, and files from before there was an object store.
    const published = await this.publications.publishAll(thread, head === null);
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
    if (reply.committed) this.states.of(thread).at = reply.head;
  }

  publish(thread: ThreadKey, paths?: readonly string[]): Promise<void> {
    return this.publications.publish(thread, paths);
  }

  async settle(thread: ThreadKey, timeoutMs: number): Promise<boolean> {
    const work = this.settleNow(thread);
    if (await settlesWithin(work, timeoutMs, this.options.clock)) return work;
    throw new UnavailableError(`the files of the thread were not stored within ${timeoutMs} ms`, {
      details: { dependency: 'object store' },
    });
  }

  knows(thread: ThreadKey): boolean {
    return this.states.has(thread);
  }

  async settleKnown(thread: ThreadKey, timeoutMs: number): Promise<void> {
    if (!this.knows(thread)) return;
    await this.settle(thread, timeoutMs);
    this.forget(thread);
  }

  private async settleNow(thread: ThreadKey): Promise<boolean> {
    const { background } = this.states.of(thread);
    await background?.settled();
    const { outcome } = await this.states.inLane(thread, () => this.publications.publishAll(thread, false));
    return outcome === 'published' || background !== undefined;
  }

  async resume(thread: ThreadKey): Promise<void> {
    if (this.states.of(thread).background !== undefined) return;
    await this.refresh(thread);
    this.publications.startAll(thread);
  }

  async machineElsewhere(thread: ThreadKey): Promise<MachineElsewhere | undefined> {
    const head = await this.options.generations.head(thread);
    const { machineWaitMs: waitMs, writer } = this.options;
    const machine = head?.unpublished?.machine ?? head?.machine;
    if (machine === undefined || machine === writer.machine) return undefined;
    return { machine, ...(head?.unpublished === undefined ? {} : { waitMs }) };
  }

  takeNotice(thread: ThreadKey): string | undefined {
    const state = this.states.of(thread);
    const { notice } = state;
    state.notice = undefined;
    return notice;
  }

  /** Runs the work in the lane of the thread, and drops what is known of its copy. */
  async whenIdle(thread: ThreadKey, work: () => Promise<void>): Promise<void> {
    await this.states.inLane(thread, work);
    this.forget(thread);
  }

  /** Drops what is known of a thread that this manager does not hold any more. */
  forget(thread: ThreadKey): void {
    this.states.drop(thread);
  }
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { omitUndefined } from '@caribou/contracts';
import { commandIdentity, DATA_DIRECTORIES, type ThreadKey } from '@caribou/core';
import { type Deferred, type Published, publishFiles } from '../plane/copies/publish-files.js';
import { WorkingCopies } from '../plane/copies/working-copies.js';
import { objectTreeStore, type TreeStoreOptions } from '../plane/store/object-tree-store.js';
import { snapshotOf } from './directory-snapshot.js';
import { MemoryGenerations } from './memory-generations.js';
import { MemoryObjects } from './memory-objects.js';

/** Sizes at which small test data meets every branch: packs, objects of their own, streams, deltas and new bases. */
export const SMALL: Partial<TreeStoreOptions> = {
  packedBelow: 512,
  packBytes: 2_048,
  bufferedBytes: 4_096,
  minDeltaNodes: 3,
};

const WRITER = { managerId: 'm1', machine: 'machine-1' };

/** A machine with local copies of the threads. */
export class Machine {
  readonly homeDir = mkdtempSync(join(tmpdir(), 'caribou-plane-'));
  copies: WorkingCopies;

  constructor(
    private readonly plane: PlaneFixture,
    private readonly maxWalked: number,
    private readonly minShare: number,
    private readonly hasFineTimes: boolean | undefined,
  ) {
    this.copies = this.newCopies();
  }

  /** As the process after a restart: nothing in memory. */
  restart(): void {
    this.copies = this.newCopies();
  }

  userData(thread: ThreadKey): string {
    return join(this.homeDir, 'users', thread.userId, 'threads', thread.threadId, 'user-data');
  }

  roots(thread: ThreadKey): readonly string[] {
    return DATA_DIRECTORIES.map((name) => join(this.userData(thread), name));
  }

  snapshot(thread: ThreadKey): Record<string, string> {
    return snapshotOf(this.userData(thread));
  }

  async refresh(thread: ThreadKey) {
    return this.copies.refresh(thread, await this.plane.generations.head(thread));
  }

  async publish(thread: ThreadKey, paths?: readonly string[]): Promise<Published> {
    const published = await this.publishOrDefer(thread, { ...(paths === undefined ? {} : { paths }) });
    if (published.outcome === 'deferred') throw new Error('the changes are few');
    return published;
  }

  async publishOrDefer(
    thread: ThreadKey,
    options: { readonly paths?: readonly string[]; readonly maxDirectBytes?: number },
  ): Promise<Published | Deferred> {
    const head = await this.plane.generations.head(thread);
    return publishFiles(
      { copies: this.copies, generations: this.plane.generations },
      { thread, writer: WRITER, head, ...options },
    );
  }

  private newCopies(): WorkingCopies {
    return new WorkingCopies({
      homeDir: this.homeDir,
      store: objectTreeStore(this.plane.objects, SMALL),
      owner: commandIdentity(),
      maxWalked: this.maxWalked,
      minShare: this.minShare,
      ...omitUndefined({ hasFineTimes: this.hasFineTimes }),
    });
  }
}

/** One object store with the generations of its threads, and machines that have copies. */
export class PlaneFixture {
  readonly objects = new MemoryObjects();
  readonly generations = new MemoryGenerations();
  private readonly machines: Machine[] = [];

  machine(maxWalked = 2_000, minShare = 2_000, hasFineTimes?: boolean): Machine {
    const made = new Machine(this, maxWalked, minShare, hasFineTimes);
    this.machines.push(made);
    return made;
  }

  close(): void {
    for (const { homeDir } of this.machines) rmSync(homeDir, { recursive: true, force: true });
  }
}

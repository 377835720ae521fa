import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { CommandIdentity, MirrorStep } from '@caribou/core';
import { emptyDirectory } from '../empty-directory.js';
import { newIndex } from '../plane/local/copy-index.js';
import { LocalTree } from '../plane/local/local-tree.js';
import { LocalWriter } from '../plane/local/local-writer.js';
import { sameStamp, type Stamp } from '../plane/local/stamps.js';
import { emptySighting, walkTree } from '../plane/local/tree-walk.js';
import { makeStaging, removeStaging } from './mirror-files.js';
import { type MirrorBounds, ReceivedChanges } from './received-changes.js';

/** The name of the directory of files on their way, in that of the skills, as both have to be on one mount. */
const STAGING = '.caribou';

/** The skills in a sandbox whose commands are the same user as this process, so that they could change them. */
export class SkillsDirectory {
  private instance: string | null = null;
  private isEmpty = false;
  private stamps: ReadonlyMap<string, Stamp> = new Map();

  /** @param directory a mount point, whose name is what paths of the skills begin with */
  constructor(
    private readonly directory: string,
    private readonly owner: CommandIdentity,
    private readonly bounds: MirrorBounds,
  ) {}

  /** Replaces the skills. A failure leaves none. @throws {InvalidRequestError} @throws {TooLargeError} @throws a system error */
  async replace(instance: string, steps: AsyncIterable<MirrorStep>): Promise<void> {
    this.isEmpty = false;
    await this.empty();
    const staging = join(this.directory, STAGING);
    makeStaging(staging);
    await this.withTree(async (local) => {
      const writer = new LocalWriter(local, staging, this.owner);
      const roots = [basename(this.directory)];
      const { bounds } = this;
      await new ReceivedChanges({
        local,
        writer,
        index: newIndex(),
        roots,
        bounds,
        isForced: true,
        onFirst: () => undefined,
      }).apply(steps);
    });
    await removeStaging(staging);
    this.stamps = await this.look();
    this.instance = instance;
  }

  /** Removes the skills, if there may be some. */
  async clear(): Promise<void> {
    if (this.isEmpty) return;
    await this.empty();
    this.isEmpty = true;
  }

  private async empty(): Promise<void> {
    this.instance = null;
    this.stamps = new Map();
    await emptyDirectory(this.directory, new AbortController().signal);
  }

  /** The instance of the skills that are there; null when there are none, or a command has changed something. */
  async check(): Promise<string | null> {
    if (this.instance === null || !existsSync(this.directory)) return null;
    const now = await this.look();
    const isSame = now.size === this.stamps.size && [...now].every(([path, stamp]) => this.isAs(path, stamp));
    if (!isSame) this.instance = null;
    return this.instance;
  }

  private isAs(path: string, stamp: Stamp): boolean {
    const known = this.stamps.get(path);
    return known !== undefined && sameStamp(known, stamp);
  }

  private look(): Promise<ReadonlyMap<string, Stamp>> {
    return this.withTree(async (local) => {
      const sighting = emptySighting();
      await walkTree(local, sighting, [basename(this.directory)]);
      // The mount point is not this process's, and what is in it shows.
      sighting.found.delete(basename(this.directory));
      return sighting.found;
    });
  }

  private async withTree<T>(work: (local: LocalTree) => Promise<T>): Promise<T> {
    const local = new LocalTree(dirname(this.directory));
    try {
      return await work(local);
    } finally {
      local.close();
    }
  }
}

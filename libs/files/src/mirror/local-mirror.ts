import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { type CopyMirror, DATA_DIRECTORIES, type MirrorCounts, type MirrorStep } from '@caribou/core';
import { emptyDirectory } from '../empty-directory.js';
import { DIRECTORY_MODE } from '../thread-path.js';
import { type CopyIndex, newIndex } from '../plane/local/copy-index.js';
import { CLOCK_MARGIN_MS } from '../plane/local/file-times.js';
import { LocalTree } from '../plane/local/local-tree.js';
import { LocalWriter } from '../plane/local/local-writer.js';
import { scan } from '../plane/local/scan.js';
import {
  directoryClockMs,
  fileSystemClockMs,
  makeStaging,
  type MirrorDirectories,
  prepareDataDirectories,
  removeStaging,
} from './mirror-files.js';
import { type MirrorBounds, ReceivedChanges } from './received-changes.js';
import { SentChanges } from './sent-changes.js';

export interface LocalMirrorOptions extends MirrorDirectories {
  readonly bounds: MirrorBounds;
  /** Whether nothing but this process changes the files while changes are received. */
  readonly isAlone: boolean;
  /** Trees with more entries are scanned by find. Default 2,000. */
  readonly maxWalked?: number;
}

/** Where starting a program costs what looking at so many entries does. */
const MAX_WALKED = 2_000;
/** Two finds share a tree when each has at least so many entries. */
const MIN_SHARE = 20_000;

/**
 * One side of an exchange: an index of what the other side has, as of the last exchange, and the stamps that these entries have here.
 *
 *  M1  what differs from the index is a change of this side, and is sent until the other side has confirmed it (`onSent`)
 *  M2  what the other side sends is entered into the index as it is applied, so an exchange that broke off is completed by the next one
 *  M3  one side changes files at a time; where both did, what is received replaces what is here, but nothing that the other side has not
 *      seen is removed, and the next exchange makes both sides equal
 */
export class LocalMirror implements CopyMirror {
  private index: CopyIndex = newIndex();
  private sending: SentChanges | undefined;

  constructor(private readonly options: LocalMirrorOptions) {}

  async *changes(): AsyncGenerator<MirrorStep, void, undefined> {
    this.sending = undefined;
    const { userData, staging, bounds, isAlone } = this.options;
    if (isAlone) prepareDataDirectories(this.options);
    const clockMs = isAlone ? directoryClockMs(join(userData, DATA_DIRECTORIES[0])) : fileSystemClockMs(staging);
    const local = new LocalTree(userData);
    try {
      const found = await scan({
        local,
        index: this.index,
        clockMs,
        settledMs: clockMs - CLOCK_MARGIN_MS,
        maxWalked: this.options.maxWalked ?? MAX_WALKED,
        minShare: () => MIN_SHARE,
        maxFileBytes: bounds.fileBytes,
      });
      const sending = new SentChanges(local, found);
      this.sending = sending;
      // A receiver asks for nothing after the last step.
      yield* sending.steps();
    } finally {
      local.close();
    }
  }

  onSent(): void {
    const { sending, index } = this;
    if (sending === undefined) return;
    this.sending = undefined;
    const { found, set, late } = sending;
    for (const path of found.removed) index.entries.delete(path);
    for (const [path, entry] of [...found.settled, ...set]) index.entries.set(path, entry);
    for (const path of [...found.resolved, ...set.keys()]) index.dirty.delete(path);
    for (const path of late) index.dirty.add(path);
    for (const path of found.settled.keys()) if (!found.resolved.has(path)) index.dirty.add(path);
    index.state = { ...index.state, clockMs: found.clockMs };
  }

  async receive(steps: AsyncIterable<MirrorStep>): Promise<MirrorCounts> {
    this.sending = undefined;
    const { userData, staging, owner, bounds, isAlone } = this.options;
    if (isAlone) prepareDataDirectories(this.options);
    const local = new LocalTree(userData);
    try {
      const writer = new LocalWriter(local, staging, owner);
      const { index } = this;
      const received = new ReceivedChanges({
        local,
        writer,
        index,
        roots: DATA_DIRECTORIES,
        bounds,
        isForced: isAlone,
        onFirst: () => makeStaging(staging),
      });
      return await received.apply(steps);
    } finally {
      local.close();
    }
  }

  /** Removes all files here, and begins again. For a side that is alone with its files. */
  async empty(): Promise<void> {
    this.reset();
    const { userData } = this.options;
    prepareDataDirectories(this.options);
    for (const name of DATA_DIRECTORIES) {
      await emptyDirectory(join(userData, name), new AbortController().signal);
      chmodSync(join(userData, name), DIRECTORY_MODE);
    }
  }

  reset(): void {
    this.index = newIndex();
    this.sending = undefined;
  }

  async close(): Promise<void> {
    await removeStaging(this.options.staging);
  }
}

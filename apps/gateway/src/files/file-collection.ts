import { randomUUID } from 'node:crypto';
import type { Logger, SharedDocuments } from '@caribou/core';
import { type Collected, collectGarbage } from '@caribou/files';
import type { Locks } from '@caribou/state';
import type { StoredFiles } from './open-files.js';

export interface FileCollectionPorts extends Pick<StoredFiles, 'store' | 'trees' | 'generations'> {
  readonly locks: Locks;
  readonly documents: Pick<SharedDocuments, 'read' | 'write'>;
  readonly logger: Logger;
  /** Manifests of a user's trees that are not those of threads. */
  readonly moreRoots: (userId: string) => Promise<readonly string[]>;
}

const LOCK = 'files/collect';
/** From one collection of all users to the next, by whichever gateway is first. */
export const EVERY_MS = 6 * 3_600_000;
/** When a collection that was out of time is continued, or one that failed is repeated. */
const AGAIN_MS = 60_000;
const ROUND_MS = 10 * 60_000;

/** Removes objects that no file needs, at one gateway at a time. */
export class FileCollection {
  private readonly stopping = new AbortController();

  constructor(private readonly ports: FileCollectionPorts) {}

  /**
   * Collects if it is time to. Resolves to when to ask again, in milliseconds.
   *
   * @throws {UnavailableError} when the object store or Redis is away
   */
  async tick(): Promise<number> {
    const { locks } = this.ports;
    const owner = randomUUID();
    // The lock is not released after a whole collection: when it has lapsed, it is time for the next.
    if (!(await locks.acquire(LOCK, owner, EVERY_MS))) return AGAIN_MS;
    let isComplete = false;
    try {
      isComplete = (await this.collect()).isComplete;
    } finally {
      if (!isComplete) await locks.release(LOCK, owner);
    }
    return AGAIN_MS;
  }

  stop(): void {
    this.stopping.abort(new Error('the gateway stops'));
  }

  private async collect(): Promise<Collected> {
    const { store, trees, generations, documents, moreRoots, logger } = this.ports;
    const collected = await collectGarbage({
      ...{ store, trees, generations, documents, moreRoots, logger },
      nowMs: () => Date.now(),
      signal: this.stopping.signal,
      maxMs: ROUND_MS,
    });
    const outcome = collected.isComplete ? 'ok' : 'limit';
    const fields = { event: 'files.collect', outcome, count: collected.removed };
    this.ports.logger.info(fields, 'objects without a file were removed from the object store');
    return collected;
  }
}

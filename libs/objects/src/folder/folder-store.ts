import { LRUCache } from 'lru-cache';
import type { FolderStoreConfig } from '@caribou/config';
import { NotFoundError } from '@caribou/contracts';
import type { Clock, ObjectBody, ObjectContent, ObjectInfo, ObjectPage, ObjectRange } from '@caribou/core';
import { checkBody, openChecked, sizeOf } from '../common/checked-body.js';
import { withDeadline } from '../common/deadline.js';
import { behindObject, checkKey, checkKeys, checkPrefix, checkRange } from '../common/object-key.js';
import type { OpenedStore } from '../common/opened-store.js';
import { folderFailure } from './folder-failure.js';
import { infoOf, isMissing, listObjects } from './list-objects.js';
import { fileOf } from './object-path.js';
import { openObject, readAtOnce, readInPieces } from './read-object.js';
import { removeObjects, removeTemporaries } from './remove-objects.js';
import { type DurableDirectories, writeObject } from './write-object.js';

/** Bodies up to this size are read by `get` itself; those of larger objects when they are used. */
const SMALL_BYTES = 64 * 1024;
const MAX_DIRECTORIES = 10_000;

/**
 * Objects as files in a folder, which several processes and, on a shared disk, several machines can use at once.
 *
 * F1 An object appears by a rename: it is complete or absent, even if a process is killed at any moment. A power cut may leave a part of one
 *    whose `put` has not returned, unless it was to replace another.
 * F2 A durable store returns from `put` when the file and all directories above it are on the disk.
 * F3 Only files that were named by this store are objects, and no link is followed.
 */
export class FolderObjectStore implements OpenedStore {
  readonly #settings: FolderStoreConfig;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #durableDirectories: DurableDirectories = new LRUCache({ max: MAX_DIRECTORIES });

  constructor(settings: FolderStoreConfig, clock: Pick<Clock, 'now'>) {
    this.#settings = settings;
    this.#clock = clock;
  }

  async put(key: string, body: ObjectBody, signal?: AbortSignal): Promise<void> {
    checkKey(key);
    checkBody(body);
    const { path: root, isDurable } = this.#settings;
    const needed = 'bytes' in body ? body.needed : undefined;
    // It may reject before it is waited for.
    needed?.catch(() => undefined);
    const target = { root, file: fileOf(root, key), isDurable, needed, durableDirectories: this.#durableDirectories };
    await this.#inTime({ signal, bytes: sizeOf(body) }, async (stop) => {
      await writeObject(openChecked(key, body), { ...target, signal: stop });
      await this.#untilNeeded(key, needed, stop);
    });
  }

  /** A new object that is not needed after all is removed. */
  async #untilNeeded(key: string, needed: Promise<unknown> | undefined, stop: AbortSignal): Promise<void> {
    try {
      await needed;
    } catch (error) {
      // One that stays is referenced by nothing; why it is not needed matters more.
      await removeObjects(this.#settings.path, [key], stop).catch(() => undefined);
      throw error;
    }
  }

  async get(key: string, range?: ObjectRange, signal?: AbortSignal): Promise<ObjectContent> {
    checkKey(key);
    if (range !== undefined) checkRange(range);
    return this.#inTime({ signal }, () => this.#open(key, range, signal));
  }

  async #open(key: string, range: ObjectRange | undefined, signal: AbortSignal | undefined): Promise<ObjectContent> {
    const { path: root, timeoutMs } = this.#settings;
    const file = fileOf(root, key);
    const handle = await openObject(file).catch((error: unknown) => {
      throw isMissing(error) ? new NotFoundError(`object ${key} does not exist`) : error;
    });
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) throw new NotFoundError(`object ${key} does not exist`);
      const { size } = stats;
      if (range !== undefined && range.start >= size) throw behindObject(range, size);
      const start = range?.start ?? 0;
      const length = Math.min(range?.end ?? size, size - 1) + 1 - start;
      if (length > SMALL_BYTES) return { size, body: readInPieces(file, { start, length, timeoutMs, signal }) };
      return { size, body: piecesOf(await readAtOnce(handle, { start, length })) };
    } finally {
      await handle.close();
    }
  }

  async head(key: string, signal?: AbortSignal): Promise<ObjectInfo | undefined> {
    checkKey(key);
    return this.#inTime({ signal }, () => infoOf(this.#settings.path, key));
  }

  async remove(keys: readonly string[], signal?: AbortSignal): Promise<void> {
    checkKeys(keys);
    await this.#inTime({ signal }, (stop) => removeObjects(this.#settings.path, keys, stop));
  }

  async list(prefix: string, after = '', signal?: AbortSignal): Promise<ObjectPage> {
    checkPrefix(prefix);
    return this.#inTime({ signal }, (stop) => listObjects({ root: this.#settings.path, prefix, after, signal: stop }));
  }

  async removeLeftovers(olderThanMs: number, signal?: AbortSignal): Promise<number> {
    const beforeMs = this.#clock.now() - olderThanMs;
    return this.#inTime({ signal }, (stop) => removeTemporaries(this.#settings.path, beforeMs, stop));
  }

  #inTime<T>(
    { signal, bytes = 0 }: { readonly signal: AbortSignal | undefined; readonly bytes?: number },
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return withDeadline({ timeoutMs: this.#settings.timeoutMs, signal, bytes }, work, folderFailure);
  }
}

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  if (bytes.byteLength > 0) yield bytes;
}

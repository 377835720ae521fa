import { FILE_PARTS, type FileTrees, type ObjectStore, type TreeStore } from '@caribou/core';
import { type ContentOptions, ContentWriter } from './content-writer.js';
import { openContent } from './content-reader.js';
import { userPrefixes } from './object-keys.js';
import { EMPTY_TREE, type ManifestOptions, Manifests } from './manifests.js';

export type TreeStoreOptions = ContentOptions & ManifestOptions;

const MEBIBYTE = 1024 * 1024;

const DEFAULTS: TreeStoreOptions = {
  packedBelow: 64 * 1024,
  packBytes: 8 * MEBIBYTE,
  bufferedBytes: 8 * MEBIBYTE,
  maxUploads: 4,
  cacheBytes: 128 * MEBIBYTE,
  minDeltaNodes: 1_000,
  maxDeltaShare: 0.25,
};

export interface ObjectTreeStore extends TreeStore {
  /**
   * The keys of all objects that a tree needs besides its own, for garbage collection: as long as the tree is retained, so are these.
   *
   * @throws {UnavailableError} also when the stored tree is damaged
   */
  references(userId: string, key: string): Promise<readonly string[]>;
  /** The prefixes of the keys of all objects of a user: contents and trees. */
  prefixes(userId: string): readonly string[];
}

/**
 * Trees and contents in an object store. Files of at least 64 KiB have an object each (`blobs/`), smaller ones share objects of up
 * to 8 MiB (`packs/`), and manifests are under `trees/`; the key of the user follows. Every key is new, so objects never change.
 */
export function objectTreeStore(store: ObjectStore, options: Partial<TreeStoreOptions> = {}): ObjectTreeStore {
  const resolved = { ...DEFAULTS, ...options };
  const manifests = new Manifests(store, resolved);
  const begin: TreeStore['begin'] = (userId, sources, find, needed) =>
    new ContentWriter({ store, userId, sources, find, needed }, resolved).begin();
  return {
    read: async (userId, trees, part) => {
      const key = trees[part];
      return key === undefined ? EMPTY_TREE : manifests.read(userId, key);
    },
    write: (userId, tree, base) => manifests.write(userId, tree, base),
    store: async (userId, sources) => {
      const { files, stored } = await begin(userId, sources, () => undefined);
      await stored();
      return files;
    },
    begin,
    open: (file, range) => openContent(store, file, range),
    references: (userId, key) => manifests.references(userId, key),
    prefixes: userPrefixes,
  };
}

/** Both trees of a thread. @throws {UnavailableError} */
export const readTrees = async (store: TreeStore, userId: string, trees: FileTrees) =>
  Promise.all(FILE_PARTS.map((part) => store.read(userId, trees, part)));

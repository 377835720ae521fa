import { LRUCache } from 'lru-cache';
import { BugError } from '@caribou/contracts';
import type { FileTree, ObjectStore } from '@caribou/core';
import { OverlayTree } from '../tree/overlay-tree.js';
import { changesBetween, isSameTree } from '../tree/tree-changes.js';
import { requireNodeLimit } from '../tree/tree-nodes.js';
import { decodeManifest, encodeManifest, type Manifest } from './manifest-codec.js';
import { newTreeKey, treePrefix } from './object-keys.js';
import { damaged, unlessMissing } from './stored-damage.js';

export interface ManifestOptions {
  /** Memory for trees that were read or written, in bytes. */
  readonly cacheBytes: number;
  /** A tree with at most this many changes is stored as a delta, however small it is. */
  readonly minDeltaNodes: number;
  /** Changes of a delta at most, as a share of the nodes of the tree. */
  readonly maxDeltaShare: number;
}

/** A tree under its key. */
interface KnownTree {
  readonly tree: FileTree;
  /** The manifest with all nodes: its own, or the one below. */
  readonly base: { readonly key: string; readonly nodes: FileTree };
}

export const EMPTY_TREE: FileTree = new Map();
/** What a node takes in memory, roughly: path, checksum, the node itself and its place in the map. */
const NODE_BYTES = 400;
const MAX_STORED_BYTES = 300 * 1024 * 1024;

/**
 * Manifests of trees in the object store. Both kinds are kept in memory by key; a delta costs its changes only, as it shares the
 * tree of its base.
 */
export class Manifests {
  private readonly known: LRUCache<string, Manifest>;

  constructor(
    private readonly store: ObjectStore,
    private readonly options: ManifestOptions,
  ) {
    this.known = new LRUCache({
      maxSize: options.cacheBytes,
      sizeCalculation: ({ nodes, removed }) => 1 + NODE_BYTES * (nodes.size + removed.size),
      fetchMethod: async (key) => decodeManifest(key, await this.bytesOf(key)),
    });
  }

  /** @throws {UnavailableError} also for a damaged manifest */
  async read(userId: string, key: string): Promise<FileTree> {
    return (await this.find(userId, key)).tree;
  }

  /** Stores the tree; the key, undefined for an empty one. @throws {TooLargeError} @throws {UnavailableError} */
  async write(userId: string, tree: FileTree, from?: string): Promise<string | undefined> {
    if (tree.size === 0) return undefined;
    requireNodeLimit(tree.size);
    const known = from === undefined ? undefined : await this.find(userId, from);
    if (known === undefined) return this.put(userId, { nodes: new Map(tree), removed: new Set() });
    if (isSameTree(known.tree, tree)) return from;
    const { key: base, nodes } = known.base;
    const { set, removed } = changesBetween(nodes, tree);
    const { minDeltaNodes, maxDeltaShare } = this.options;
    return set.size + removed.size <= Math.max(minDeltaNodes, maxDeltaShare * tree.size)
      ? this.put(userId, { base, nodes: set, removed })
      : this.put(userId, { nodes: new Map(tree), removed: new Set() });
  }

  /** The keys of all objects that a tree needs besides its own: of its base, and of the contents of both. */
  async references(userId: string, key: string): Promise<readonly string[]> {
    const { tree, base } = await this.find(userId, key);
    const keys = new Set<string>(base.key === key ? [] : [base.key]);
    for (const each of [base.nodes, tree]) {
      for (const node of each.values()) if (node.kind === 'file') keys.add(node.content.object);
    }
    return [...keys];
  }

  private async find(userId: string, key: string): Promise<KnownTree> {
    if (!key.startsWith(treePrefix(userId))) throw new BugError('a tree of another user');
    const { base, nodes, removed } = await this.manifestOf(key);
    if (base === undefined) return { tree: nodes, base: { key, nodes } };
    const below = await this.manifestOf(base);
    if (below.base !== undefined) throw damaged('a list of files', base, 'altered');
    const tree = OverlayTree.over(below.nodes, { set: nodes, removed });
    return { tree, base: { key: base, nodes: below.nodes } };
  }

  private async manifestOf(key: string): Promise<Manifest> {
    const manifest = await this.known.fetch(key);
    if (manifest === undefined) throw new BugError('every manifest that can be read is given');
    return manifest;
  }

  private async bytesOf(key: string): Promise<Buffer> {
    const { size, body } = await unlessMissing('a list of files', key, () => this.store.get(key));
    if (size > MAX_STORED_BYTES) throw damaged('a list of files', key, 'too_large');
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of body) {
      chunks.push(chunk);
      length += chunk.byteLength;
      if (length > size) throw damaged('a list of files', key, 'altered');
    }
    if (length < size) throw damaged('a list of files', key, 'cut');
    return Buffer.concat(chunks);
  }

  private async put(userId: string, manifest: Manifest): Promise<string> {
    const key = newTreeKey(userId);
    const bytes = await encodeManifest(manifest);
    await this.store.put(key, { bytes });
    this.known.set(key, manifest);
    return key;
  }
}

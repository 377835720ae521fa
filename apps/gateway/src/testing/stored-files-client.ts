import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type FileTree, type ThreadKey } from '@caribou/core';
import { silentLogger } from '@caribou/core';
import { objectTreeStore, treeFiles } from '@caribou/files';
import { openObjectStore } from '@caribou/objects';
import { redisFileGenerations } from '@caribou/state';
import type { GatewayFixture } from './gateway-fixture.js';

/** The folder of the object store. */
export const objectsOf = ({ folder }: GatewayFixture): string => join(folder, 'objects');

/** A config.yaml with files in an object store that is not below CARIBOU_HOME. */
export const storedFilesConfig = (fixture: GatewayFixture): string =>
  `files: { store: { folder: { path: ${objectsOf(fixture)}, durable: false } } }\n`;

/** Writes files of threads as the manager of a sandbox does: into the object store, in one commit. */
export class CommandFiles {
  private readonly trees;
  private readonly generations;

  constructor(fixture: GatewayFixture) {
    const folder = { path: objectsOf(fixture), isDurable: false, timeoutMs: 10_000 };
    this.trees = objectTreeStore(openObjectStore({ kind: 'folder', folder }, silentLogger));
    this.generations = redisFileGenerations(fixture.connectRedis());
  }

  /** Changes files of `work` by their path below /mnt/user-data; null removes one. */
  async write(thread: ThreadKey, contents: Readonly<Record<string, string | null>>): Promise<void> {
    const head = await this.generations.head(thread);
    let tree: FileTree = await this.trees.read(thread.userId, head?.trees ?? {}, 'work');
    for (const [name, content] of Object.entries(contents)) {
      const path = `/mnt/user-data/${name}`;
      tree = content === null ? treeFiles.removeFile(tree, path) : await this.withFile(thread, tree, { path, content });
    }
    const work = await this.trees.write(thread.userId, tree, head?.trees.work);
    const trees = { ...head?.trees, ...(work === undefined ? {} : { work }) };
    const { committed } = await this.generations.commit(thread, { expected: head, trees, bytes: 0, files: tree.size });
    if (!committed) throw new Error('another writer was faster');
  }

  private async withFile(
    { userId }: ThreadKey,
    tree: FileTree,
    { path, content }: { readonly path: string; readonly content: string },
  ): Promise<FileTree> {
    const bytes = Buffer.from(content);
    const source = { size: bytes.byteLength, open: () => Readable.from([bytes]) };
    const [stored] = await this.trees.store(userId, [source]);
    if (stored === null || stored === undefined) throw new Error('it was not stored');
    return treeFiles.setFile(tree, path, { ...stored, size: bytes.byteLength, modifiedMs: Date.now() });
  }
}

import type { ObjectRange } from '../ports/object-store.js';
import type { FileContent, FileNode, FilePart, FileTree } from './file-tree.js';
import type { FileTrees } from './file-generations.js';

/** A file to be stored. */
export interface FileSource {
  /** Bytes that `open` gives; a source that gives fewer or more is refused. */
  readonly size: number;
  /** Opens the bytes from the start; called again for each attempt. */
  readonly open: () => AsyncIterable<Uint8Array>;
}

/** Finds where the user has these bytes already; undefined when that is not known. */
export type FindContent = (file: Pick<FileNode, 'size' | 'sha256'>) => FileContent | undefined;

export interface StoredFile {
  readonly sha256: string;
  readonly content: FileContent;
}

/** Contents of which all are read, and some may still be on their way to the store. */
export interface BegunContents {
  /** One for each source, in order; null for one that has changed while it was read. */
  readonly files: readonly (StoredFile | null)[];
  /** Resolves when all are stored; until then nothing that names them may be committed. @throws {UnavailableError} */
  readonly stored: () => Promise<void>;
}

/**
 * Trees and contents of a user's files in an object store. What is written is not referenced by anything yet, and removed after a
 * day unless a generation that names it is committed.
 */
export interface TreeStore {
  /** The tree of a part; empty without one. @throws {UnavailableError} also when the stored tree is damaged */
  read(userId: string, trees: FileTrees, part: FilePart): Promise<FileTree>;
  /**
   * Stores a tree; the key of its manifest, undefined for an empty tree. What it costs depends on how much differs from `base`.
   *
   * @param base key of the manifest that the tree was made from
   */
  write(userId: string, tree: FileTree, base?: string): Promise<string | undefined>;
  /**
   * Stores contents; small ones share objects. One result for each source, in order; null for a source that has changed while it was
   * read, which is stored at the next attempt.
   */
  store(userId: string, sources: readonly FileSource[]): Promise<readonly (StoredFile | null)[]>;
  /**
   * The same, without waiting for the last objects: what is made of the results may be stored meanwhile.
   *
   * @param find contents that it finds are not stored again
   * @param needed resolves when the contents are needed; when it rejects, they may not be stored
   */
  begin(
    userId: string,
    sources: readonly FileSource[],
    find: FindContent,
    needed?: Promise<unknown>,
  ): Promise<BegunContents>;
  /**
   * The bytes of a file. The whole file is checked against its checksum, a range is not.
   *
   * @throws {UnavailableError} when the content is missing, cut or altered (`details.reason`)
   */
  open(file: FileNode, range?: ObjectRange): AsyncIterable<Uint8Array>;
}

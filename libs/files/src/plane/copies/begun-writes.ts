import { LRUCache } from 'lru-cache';
import type { BegunContents, StoredFile, ThreadKey, TreeStore } from '@caribou/core';
import type { ThreadFiles, WrittenFile } from '../../thread-files.js';
import type { LocalTree } from '../local/local-tree.js';
import { isSettled } from '../local/file-times.js';
import { localSource } from '../local/local-source.js';
import type { Stamp } from '../local/stamps.js';
import { treePathOf } from '../tree/tree-nodes.js';

/** Larger files are stored after they are written, in bytes: they are streamed then, and not in memory. */
const MAX_FILE_BYTES = 8 * 1024 * 1024;
/** Bytes of all writes in memory at most; the oldest ones are forgotten, and read from the disk by their publication. */
const MAX_BYTES = 64 * 1024 * 1024;

/** The bytes of a file that is being written, on their way to the store. */
export interface BegunWrite {
  readonly bytes: Uint8Array;
  /** The file, once it has all bytes. */
  written: WrittenFile | undefined;
  readonly contents: Promise<BegunContents>;
}

/** By path of a tree. */
export type BegunWritesOfThread = ReadonlyMap<string, BegunWrite>;

/**
 * Stores contents while they are written to a local copy: the publication that follows finds them on their way. What it finds on the
 * disk decides: contents of a write that failed, or that was changed since, are never referenced.
 */
export class BegunWrites {
  private readonly begun = new LRUCache<string, BegunWrite>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ bytes }) => bytes.byteLength,
  });

  constructor(private readonly store: Pick<TreeStore, 'begin'>) {}

  /** The files of threads: what replaces one is stored meanwhile. */
  during(files: ThreadFiles): ThreadFiles {
    return {
      ...files,
      replace: async (thread, path, content) => {
        const treePath = treePathOf(path);
        const isTooLarge = content.byteLength === 0 || content.byteLength > MAX_FILE_BYTES;
        if (treePath === undefined || isTooLarge) return files.replace(thread, path, content);
        const key = keyOf(thread, treePath);
        let file: WrittenFile | undefined;
        const writing = files.replace(thread, path, content, (written) => (file = written));
        const begun = this.begin(thread.userId, content, writing);
        this.begun.set(key, begun);
        try {
          const length = await writing;
          begun.written = file;
          return length;
        } catch (error) {
          if (this.begun.peek(key) === begun) this.begun.delete(key);
          throw error;
        }
      },
    };
  }

  /** The writes of a thread, of all paths or of some, which are forgotten here. */
  take(thread: ThreadKey, treePaths?: readonly string[]): BegunWritesOfThread {
    const prefix = keyOf(thread, '');
    const keys =
      treePaths?.map((path) => prefix + path) ?? [...this.begun.keys()].filter((key) => key.startsWith(prefix));
    const taken = new Map<string, BegunWrite>();
    for (const key of keys) {
      const begun = this.begun.peek(key);
      if (begun === undefined) continue;
      taken.set(key.slice(prefix.length), begun);
      this.begun.delete(key);
    }
    return taken;
  }

  private begin(userId: string, bytes: Uint8Array, writing: Promise<unknown>): BegunWrite {
    const source = { size: bytes.byteLength, open: () => piecesOf(bytes) };
    const contents = this.store.begin(userId, [source], () => undefined, writing);
    // A failure is the publication's, which may never ask for this write.
    contents.catch(() => undefined);
    return { bytes, written: undefined, contents };
  }
}

interface WrittenPath {
  readonly path: string;
  readonly stamp: Stamp;
  /** See LocalChanges. */
  readonly settledMs: number;
}

export interface ContentsOfWrite {
  readonly file: StoredFile;
  readonly stored: () => Promise<void>;
  /** Whether the file has just these bytes; true for one that the next scan compares in any case, as its stamp is not settled. */
  readonly isSame: () => Promise<boolean>;
}

/**
 * What the store has for a file on the disk that has the bytes of the write; undefined when it has others. A file is known by its inode
 * and time, which a command may have set back after a change: its bytes can be compared while they are on their way to the store.
 */
export async function contentsOfWrite(
  local: LocalTree,
  { path, stamp, settledMs }: WrittenPath,
  write: BegunWrite,
): Promise<ContentsOfWrite | undefined> {
  if (stamp.size !== write.bytes.byteLength) return undefined;
  const isKnown = stamp.ino === write.written?.ino && stamp.mtimeMs === write.written.mtimeMs;
  if (!isKnown && !(await hasBytes(local, path, write.bytes))) return undefined;
  const { files, stored } = await write.contents;
  const [file] = files;
  if (file === null || file === undefined) return undefined;
  const isSure = !isKnown || !isSettled(stamp, settledMs);
  return { file, stored, isSame: async () => isSure || hasBytes(local, path, write.bytes) };
}

async function hasBytes(local: LocalTree, path: string, bytes: Uint8Array): Promise<boolean> {
  let at = 0;
  for await (const piece of localSource(local, path, bytes.byteLength).open()) {
    if (
      !Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).equals(bytes.subarray(at, at + piece.byteLength))
    )
      return false;
    at += piece.byteLength;
  }
  return at === bytes.byteLength;
}

const keyOf = ({ userId, threadId }: ThreadKey, treePath: string): string => `${userId}/${threadId}/${treePath}`;

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}

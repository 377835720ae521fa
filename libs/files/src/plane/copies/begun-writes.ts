import type { BegunContents, StoredFile, ThreadKey, TreeStore } from '@caribou/core';
import type { ThreadFiles } from '../../thread-files.js';
import type { LocalTree } from '../local/local-tree.js';
import { localSource } from '../local/local-source.js';
import { treePathOf } from '../tree/tree-nodes.js';

/** Larger files are stored after they are written, in bytes: they are streamed then, and not in memory. */
const MAX_FILE_BYTES = 8 * 1024 * 1024;
/** Bytes of all writes in memory at most; further ones are stored after they are written. */
const MAX_BYTES = 64 * 1024 * 1024;

/** The bytes of a file that is being written, on their way to the store. */
export interface BegunWrite {
  readonly bytes: Uint8Array;
  readonly contents: Promise<BegunContents>;
}

/** By path of a tree. */
export type BegunWritesOfThread = ReadonlyMap<string, BegunWrite>;

/**
 * Stores contents while they are written to a local copy: the publication that follows finds them on their way. What it finds on the
 * disk decides: contents of a write that failed, or that was changed since, are never referenced.
 */
export class BegunWrites {
  private readonly threads = new Map<string, Map<string, BegunWrite>>();
  private bytes = 0;

  constructor(private readonly store: Pick<TreeStore, 'begin'>) {}

  /** The files of threads: what replaces one is stored meanwhile. */
  during(files: ThreadFiles): ThreadFiles {
    return {
      ...files,
      replace: async (thread, path, content) => {
        const treePath = treePathOf(path);
        if (treePath === undefined || !this.hasRoomFor(content)) return files.replace(thread, path, content);
        const begun = this.begin(thread, treePath, content);
        try {
          return await files.replace(thread, path, content);
        } catch (error) {
          if (this.threads.get(keyOf(thread))?.get(treePath) === begun) this.take(thread, [treePath]);
          throw error;
        }
      },
    };
  }

  /** The writes of a thread, of all paths or of some, which are forgotten here. */
  take(thread: ThreadKey, treePaths?: readonly string[]): BegunWritesOfThread {
    const key = keyOf(thread);
    const ofThread = this.threads.get(key);
    const taken = new Map<string, BegunWrite>();
    if (ofThread === undefined) return taken;
    for (const path of treePaths ?? [...ofThread.keys()]) {
      const begun = ofThread.get(path);
      if (begun === undefined) continue;
      taken.set(path, begun);
      ofThread.delete(path);
      this.bytes -= begun.bytes.byteLength;
    }
    if (ofThread.size === 0) this.threads.delete(key);
    return taken;
  }

  private hasRoomFor({ byteLength }: Uint8Array): boolean {
    return byteLength > 0 && byteLength <= MAX_FILE_BYTES && this.bytes + byteLength <= MAX_BYTES;
  }

  private begin(thread: ThreadKey, treePath: string, bytes: Uint8Array): BegunWrite {
    this.take(thread, [treePath]);
    const source = { size: bytes.byteLength, open: () => piecesOf(bytes) };
    const contents = this.store.begin(thread.userId, [source], () => undefined);
    // A failure is the publication's, which may never ask for this write.
    contents.catch(() => undefined);
    const begun = { bytes, contents };
    const key = keyOf(thread);
    const ofThread = this.threads.get(key) ?? new Map<string, BegunWrite>();
    this.threads.set(key, ofThread.set(treePath, begun));
    this.bytes += bytes.byteLength;
    return begun;
  }
}

/** What the store has for a file on the disk that has just the bytes of the write; undefined when it has others. */
export async function contentsOfWrite(
  local: LocalTree,
  path: string,
  { bytes, contents }: BegunWrite,
): Promise<{ readonly file: StoredFile; readonly stored: () => Promise<void> } | undefined> {
  let at = 0;
  for await (const piece of localSource(local, path, bytes.byteLength).open()) {
    if (
      !Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).equals(bytes.subarray(at, at + piece.byteLength))
    )
      return undefined;
    at += piece.byteLength;
  }
  if (at < bytes.byteLength) return undefined;
  const { files, stored } = await contents;
  const [file] = files;
  return file === null || file === undefined ? undefined : { file, stored };
}

const keyOf = ({ userId, threadId }: ThreadKey): string => `${userId}/${threadId}`;

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}

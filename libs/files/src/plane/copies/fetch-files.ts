import type { FileContent, FileNode, TreeStore } from '@caribou/core';
import { inParallel } from '../in-parallel.js';
import { sha256Of } from '../../file-hash.js';
import { damaged } from '../store/stored-damage.js';

export type WantedFile = readonly [path: string, node: FileNode];

/** Small files that are next to each other in one object are read together, up to this many bytes. */
const MAX_RUN_BYTES = 8 * 1024 * 1024;
/** Bytes between two files that are read and thrown away rather than asked for in two requests. */
const MAX_GAP_BYTES = 256 * 1024;
/** A file from this size on is read in a stream of its own. */
const MIN_STREAM_BYTES = 1024 * 1024;
const MAX_REQUESTS = 6;

export interface FetchTarget {
  /** Takes all bytes of a file, which have its checksum. */
  readonly take: (path: string, node: FileNode, bytes: AsyncIterable<Uint8Array> | Uint8Array) => Promise<void>;
}

/**
 * Reads files from the store, a few requests at a time: those that share an object by few requests for all of them.
 *
 * @throws {UnavailableError} when a content is missing, cut or altered
 */
export async function fetchFiles(store: TreeStore, files: readonly WantedFile[], { take }: FetchTarget): Promise<void> {
  await inParallel(runsOf(files), MAX_REQUESTS, async (run) => {
    const [first, ...others] = run;
    if (first === undefined) return;
    const [path, node] = first;
    if (others.length === 0) await take(path, node, store.open(node));
    else await takeRun(store, run, take);
  });
}

async function takeRun(store: TreeStore, run: readonly WantedFile[], take: FetchTarget['take']): Promise<void> {
  const start = Math.min(...run.map(([, { content }]) => content.offset));
  const end = Math.max(...run.map(([, { content, size }]) => content.offset + size));
  const object = run[0]?.[1].content.object ?? '';
  const bytes = await allOf(store, { object, offset: start }, end - start);
  for (const [path, node] of run) {
    const from = node.content.offset - start;
    const content = bytes.subarray(from, from + node.size);
    if (sha256Of(content) !== node.sha256) throw damaged("a file's content", object, 'altered');
    await take(path, node, content);
  }
}

/** A part of an object, whatever files are in it. */
async function allOf(store: TreeStore, content: FileContent, size: number): Promise<Buffer> {
  if (size === 0) return Buffer.alloc(0);
  const part: FileNode = { kind: 'file', mode: 0, modifiedMs: 0, sha256: '', size, content };
  const bytes = Buffer.allocUnsafe(size);
  let length = 0;
  for await (const chunk of store.open(part, { start: 0, end: size - 1 })) {
    bytes.set(chunk, length);
    length += chunk.byteLength;
  }
  if (length < size) throw damaged("a file's content", content.object, 'cut');
  return bytes;
}

/** Files in groups that are read by one request each. */
function runsOf(files: readonly WantedFile[]): readonly (readonly WantedFile[])[] {
  const byObject = new Map<string, WantedFile[]>();
  const runs: WantedFile[][] = [];
  for (const file of files) {
    const { size, content } = file[1];
    const others = byObject.get(content.object);
    if (size >= MIN_STREAM_BYTES || size === 0) runs.push([file]);
    else if (others === undefined) byObject.set(content.object, [file]);
    else others.push(file);
  }
  for (const sharing of byObject.values()) runs.push(...neighbours(sharing));
  return runs;
}

function neighbours(files: WantedFile[]): WantedFile[][] {
  const runs: WantedFile[][] = [];
  let start = 0;
  let end = 0;
  for (const file of files.sort(([, left], [, right]) => left.content.offset - right.content.offset)) {
    const { content, size } = file[1];
    const run = runs.at(-1);
    const joined = Math.max(end, content.offset + size);
    if (run !== undefined && content.offset - end <= MAX_GAP_BYTES && joined - start <= MAX_RUN_BYTES) run.push(file);
    else {
      runs.push([file]);
      start = content.offset;
    }
    end = joined;
  }
  return runs;
}

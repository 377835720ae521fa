import { crc32 } from 'node:zlib';
import { z } from 'zod';
import { type NodeRow, nodeOfRow, ObjectList, rowOf } from '../store/node-rows.js';
import { applyChange, type CopyEntry, type CopyIndex, type IndexChange, newIndex } from './copy-index.js';
import type { Stamp } from './stamps.js';

/**
 * The file of an index is a list of records, one a line: a checksum, a space, JSON. The first has everything, the others what
 * changed later. A record that was cut by a crash ends the list: what it would have said is found by the next scan.
 */

const VERSION = 1;

const State = z.object({
  home: z.string().nullable(),
  generation: z.number(),
  trees: z.object({ work: z.string().optional(), uploads: z.string().optional() }).nullable(),
  clockMs: z.number(),
});

/** A row has the node's fields after inode, ctime and mtime. */
const Row = z.array(z.union([z.string(), z.number()]));

const Record = z.object({
  version: z.literal(VERSION),
  state: State.optional(),
  objects: z.array(z.string()),
  set: z.array(z.tuple([z.number(), z.number(), z.number(), Row])),
  removed: z.array(z.string()),
  dirty: z.array(z.string()).optional(),
  underWay: z.array(z.string()).optional(),
});

const checksum = (text: string): string => crc32(text).toString(16).padStart(8, '0');

export function encodeRecord({ state, set, removed, dirty, underWay }: IndexChange): string {
  const objects = new ObjectList();
  const rows = Array.from(set ?? [], ([path, { node, stamp }]) => [
    stamp.ino,
    stamp.ctimeMs,
    stamp.mtimeMs,
    rowOf(path, node, objects),
  ]);
  const text = JSON.stringify({
    version: VERSION,
    state,
    objects: objects.keys,
    set: rows,
    removed: [...(removed ?? [])],
    ...(dirty === undefined ? {} : { dirty: [...dirty] }),
    ...(underWay === undefined ? {} : { underWay: [...underWay] }),
  });
  return `${checksum(text)} ${text}\n`;
}

/** The record with everything. */
export const encodeIndex = ({ state, entries, dirty, underWay }: CopyIndex): string =>
  encodeRecord({ state, set: entries, dirty, underWay });

/** What the records say, in order, up to the first that is damaged; `bytes` is the length of those that were read. */
export function decodeIndex(text: string): { readonly index: CopyIndex; readonly bytes: number } {
  const index = newIndex();
  let bytes = 0;
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', bytes)) {
    const change = decodeRecord(text.slice(bytes, end));
    if (change === undefined) break;
    applyChange(index, change);
    bytes = end + 1;
  }
  return { index, bytes };
}

function decodeRecord(line: string): IndexChange | undefined {
  const text = line.slice(9);
  if (line.slice(0, 8) !== checksum(text)) return undefined;
  const parsed = Record.safeParse(JSON.parse(text));
  if (!parsed.success) return undefined;
  const { state, objects, set: rows, removed, dirty, underWay } = parsed.data;
  const set = new Map<string, CopyEntry>();
  for (const [ino, ctimeMs, mtimeMs, row] of rows) {
    const path = row[0];
    const node = nodeOfRow(row as unknown as NodeRow, objects);
    if (typeof path !== 'string' || node === undefined) return undefined;
    const [mode, size] = node.kind === 'link' ? [0, 0] : [node.mode, node.kind === 'file' ? node.size : 0];
    const stamp: Stamp = { kind: node.kind, ino, mode, size, mtimeMs, ctimeMs };
    set.set(path, { node, stamp });
  }
  return {
    set,
    removed,
    ...(state === undefined ? {} : { state: { ...state, trees: state.trees as CopyIndex['state']['trees'] } }),
    ...(dirty === undefined ? {} : { dirty: new Set(dirty) }),
    ...(underWay === undefined ? {} : { underWay: new Set(underWay) }),
  };
}

import { Readable } from 'node:stream';
import type { FileNode, ObjectRange, OpenFile, TreeStore } from '@caribou/core';

/** A stored file as an open one. Every stream asks the store for the range, and ends that request when it is destroyed. */
export function storedOpenFile(trees: Pick<TreeStore, 'open'>, node: FileNode): OpenFile {
  const isWhole = ({ start, end }: ObjectRange): boolean => start === 0 && end === node.size - 1;
  return {
    size: node.size,
    modifiedMs: node.modifiedMs,
    version: node.sha256,
    stream: (range) =>
      range.end < range.start
        ? Readable.from([])
        : // Only a whole file can be checked against its checksum.
          Readable.from(isWhole(range) ? trees.open(node) : trees.open(node, range), { objectMode: false }),
    close: () => Promise.resolve(),
  };
}

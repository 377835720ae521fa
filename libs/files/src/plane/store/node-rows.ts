import type { TreeNode } from '@caribou/core';

/**
 * Nodes of a tree as rows of a manifest. Keys of objects are in a list of their own, as many files share one.
 *
 *     ["path", 0, mode, size, modifiedMs, sha256, object, offset]      a file; `object` is a position in the list
 *     ["path", 1, mode]                                                a directory
 *     ["path", 2, target]                                              a link
 */
export type NodeRow = readonly [string, ...(string | number)[]];

const FILE = 0;
const DIRECTORY = 1;
const LINK = 2;

/** Gives keys their positions in the list. */
export class ObjectList {
  readonly keys: string[] = [];
  private readonly positions = new Map<string, number>();

  positionOf(key: string): number {
    const known = this.positions.get(key);
    if (known !== undefined) return known;
    this.positions.set(key, this.keys.length);
    return this.keys.push(key) - 1;
  }
}

export function rowOf(path: string, node: TreeNode, objects: ObjectList): NodeRow {
  if (node.kind === 'directory') return [path, DIRECTORY, node.mode];
  if (node.kind === 'link') return [path, LINK, node.target];
  const { mode, size, modifiedMs, sha256, content } = node;
  return [path, FILE, mode, size, modifiedMs, sha256, objects.positionOf(content.object), content.offset];
}

/** The node of a row; undefined for a row of another form. */
export function nodeOfRow(row: NodeRow, objects: readonly string[]): TreeNode | undefined {
  const [, kind, ...fields] = row;
  if (kind === DIRECTORY) return typeof fields[0] === 'number' ? { kind: 'directory', mode: fields[0] } : undefined;
  if (kind === LINK) return typeof fields[0] === 'string' ? { kind: 'link', target: fields[0] } : undefined;
  return kind === FILE ? fileOf(fields, objects) : undefined;
}

function fileOf(fields: readonly (string | number)[], objects: readonly string[]): TreeNode | undefined {
  const [mode, size, modifiedMs, sha256, position, offset] = fields;
  const object = typeof position === 'number' ? objects[position] : undefined;
  if (typeof sha256 !== 'string' || object === undefined) return undefined;
  if (typeof mode !== 'number' || typeof size !== 'number') return undefined;
  if (typeof modifiedMs !== 'number' || typeof offset !== 'number') return undefined;
  return { kind: 'file', mode, size, modifiedMs, sha256, content: { object, offset } };
}

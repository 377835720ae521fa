import { isUtf8 } from 'node:buffer';
import { type FileNode, type FileTree, type TreeNode, type TreeStore, VIRTUAL_ROOT } from '@caribou/core';
import { changesBetween } from '../plane/tree/tree-changes.js';
import { fromTreeText, sameBytes } from '../plane/tree/tree-nodes.js';
import { diffLines } from '../text/line-diff.js';
import { readUpTo } from '../open-file.js';
import { storedOpenFile } from './stored-open-file.js';

/** Why a changed file has no diff; `limit`: those before it have taken what one comparison may read or show. */
export type DiffOmission = 'binary' | 'large' | 'link' | 'limit';

/** A file or link that differs between two points. */
export interface FileChange {
  /** Virtual path. */
  readonly path: string;
  readonly change: 'added' | 'changed' | 'removed';
  /** Undefined on the side where there is none. */
  readonly before: ChangedNode | undefined;
  readonly after: ChangedNode | undefined;
  readonly additions: number;
  readonly deletions: number;
  /** A unified diff; empty when only the mode has changed, or there is an `omission`. */
  readonly diff: string;
  readonly omission: DiffOmission | null;
}

type ChangedNode = Exclude<TreeNode, { kind: 'directory' }>;

export interface CompareLimits {
  /** Changes that are listed. */
  readonly maxChanges: number;
  /** Larger files get no diff, in bytes. */
  readonly maxFileBytes: number;
  /** Bytes of all files that are read for diffs. */
  readonly maxReadBytes: number;
  /** Characters of all diffs. */
  readonly maxDiffChars: number;
}

export const COMPARE_LIMITS: CompareLimits = {
  maxChanges: 500,
  maxFileBytes: 256 * 1024,
  maxReadBytes: 8 * 1024 * 1024,
  maxDiffChars: 1024 * 1024,
};

export interface TreeComparison {
  /** By path. */
  readonly changes: readonly FileChange[];
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  /** Whether there are more changes than are listed; the three numbers count all. */
  readonly truncated: boolean;
}

type Differing = Pick<FileChange, 'path' | 'change' | 'before' | 'after'>;

/** What differs between pairs of trees, with diffs of small texts. Times alone are no difference. @throws {UnavailableError} */
export async function compareTrees(
  store: Pick<TreeStore, 'open'>,
  pairs: readonly (readonly [before: FileTree, after: FileTree])[],
  limits: CompareLimits = COMPARE_LIMITS,
): Promise<TreeComparison> {
  const all = pairs.flatMap(([before, after]) => differingNodes(before, after));
  all.sort((left, right) => (left.path < right.path ? -1 : 1));
  const count = (kind: FileChange['change']): number => all.filter(({ change }) => change === kind).length;
  const differ = new Differ(store, limits);
  const changes: FileChange[] = [];
  for (const each of all.slice(0, limits.maxChanges)) changes.push({ ...each, ...(await differ.diff(each)) });
  return {
    changes,
    added: count('added'),
    changed: count('changed'),
    removed: count('removed'),
    truncated: all.length > changes.length,
  };
}

function differingNodes(before: FileTree, after: FileTree): Differing[] {
  const { set, removed } = changesBetween(before, after);
  const found: Differing[] = [];
  for (const path of [...set.keys(), ...removed]) {
    const [left, right] = [fileOrLink(before.get(path)), fileOrLink(after.get(path))];
    if ((left === undefined && right === undefined) || looksSame(left, right)) continue;
    const change = left === undefined ? 'added' : right === undefined ? 'removed' : 'changed';
    found.push({ path: `${VIRTUAL_ROOT}/${fromTreeText(path)}`, change, before: left, after: right });
  }
  return found;
}

const fileOrLink = (node: TreeNode | undefined): ChangedNode | undefined =>
  node?.kind === 'directory' ? undefined : node;

function looksSame(left: ChangedNode | undefined, right: ChangedNode | undefined): boolean {
  if (left?.kind === 'link') return right?.kind === 'link' && left.target === right.target;
  return left?.kind === 'file' && right?.kind === 'file' && left.mode === right.mode && sameBytes(left, right);
}

type Diff = Pick<FileChange, 'additions' | 'deletions' | 'diff' | 'omission'>;

const without = (omission: DiffOmission | null): Diff => ({ additions: 0, deletions: 0, diff: '', omission });

const hasSameBytes = (before: FileNode | undefined, after: FileNode | undefined): boolean =>
  before !== undefined && after !== undefined && sameBytes(before, after);

const sizeOf = (file: FileNode | undefined): number => file?.size ?? 0;

function withHead(
  hunks: string,
  path: string,
  { before, after }: { readonly before: FileNode | undefined; readonly after: FileNode | undefined },
): string {
  if (hunks === '') return '';
  const [from, to] = [before === undefined ? '/dev/null' : `a${path}`, after === undefined ? '/dev/null' : `b${path}`];
  return `--- ${from}\n+++ ${to}\n${hunks}`;
}

/** Makes diffs until the limits of one comparison are reached. */
class Differ {
  private readBytes = 0;
  private chars = 0;

  constructor(
    private readonly store: Pick<TreeStore, 'open'>,
    private readonly limits: CompareLimits,
  ) {}

  async diff({ path, before, after }: Differing): Promise<Diff> {
    if (before?.kind === 'link' || after?.kind === 'link') return without('link');
    if (hasSameBytes(before, after)) return without(null);
    const omission = this.sizeOmission(sizeOf(before), sizeOf(after));
    if (omission !== null) return without(omission);
    const [left, right] = [await this.textOf(before), await this.textOf(after)];
    if (left === null || right === null) return without('binary');
    const { hunks, ...lines } = diffLines(left, right);
    if (this.chars + hunks.length > this.limits.maxDiffChars) return { ...lines, diff: '', omission: 'limit' };
    this.chars += hunks.length;
    return { ...lines, diff: withHead(hunks, path, { before, after }), omission: null };
  }

  /** Why files of these sizes are not read, if they are not. */
  private sizeOmission(before: number, after: number): DiffOmission | null {
    if (Math.max(before, after) > this.limits.maxFileBytes) return 'large';
    this.readBytes += before + after;
    return this.readBytes > this.limits.maxReadBytes ? 'limit' : null;
  }

  /** Null for what is no text. */
  private async textOf(file: FileNode | undefined): Promise<string | null> {
    if (file === undefined) return '';
    const bytes = await readUpTo(storedOpenFile(this.store, file), this.limits.maxFileBytes);
    return bytes === null || !isUtf8(bytes) || bytes.includes(0) ? null : bytes.toString('utf8');
  }
}

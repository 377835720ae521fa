import { createHash } from 'node:crypto';
import type { FileChange } from './operations.js';

/** Contents by path below /mnt/user-data. */
export type Files = ReadonlyMap<string, string>;

/** The files of a thread at one point: `work` is what commands write, `uploads` what people bring. */
export interface Point {
  readonly work: Files;
  readonly uploads: Files;
}

export const NO_FILES: Files = new Map();

const PATHS = [
  'workspace/a',
  'workspace/b',
  'workspace/d/a',
  'workspace/d/e/c',
  'outputs/report.md',
  'outputs/d/report.md',
];
const UPLOADS = ['uploads/a.txt', 'uploads/b.txt', 'uploads/c.txt'];

export const pick = <Item>(items: readonly Item[], at: number): Item | undefined => items[at % items.length];

let written = 0;

/** A text that no file had before. */
export function newContent(size: number): string {
  written += 1;
  return `${written}:`.repeat(Math.ceil(size / `${written}:`.length)).slice(0, size);
}

export const uploadPath = (at: number): string => pick(UPLOADS, at) ?? '';

/** A change with what it does: the content that a path gets, or null where it is removed. */
export function effectOf(work: Files, { kind, at, to, size }: FileChange): ReadonlyMap<string, string | null> {
  const present = pick([...work.keys()].sort(), at);
  const target = pick(PATHS, to) ?? '';
  if (kind === 'write' || present === undefined) return new Map([[target, newContent(size)]]);
  if (kind === 'remove') return new Map([[present, null]]);
  return new Map<string, string | null>([
    [present, null],
    [target, work.get(present) ?? ''],
  ]);
}

export function applyEffect(files: Files, effect: ReadonlyMap<string, string | null>): Files {
  const changed = new Map(files);
  for (const [path, content] of effect) {
    if (content === null) changed.delete(path);
    else changed.set(path, content);
  }
  return changed;
}

/** What a thread's files are, and were at its checkpoints. */
export class ThreadModel {
  work = NO_FILES;
  uploads = NO_FILES;
  /** By id, the oldest first. */
  checkpoints = new Map<string, Point>();
  headId: string | undefined;

  constructor(readonly threadId: string) {}

  get now(): Point {
    return { work: this.work, uploads: this.uploads };
  }

  capture(checkpointId: string): void {
    this.checkpoints.set(checkpointId, this.now);
    this.headId = checkpointId;
  }

  /** Goes back to the work of a checkpoint; what people brought stays. */
  goBack(checkpointId: string): void {
    this.work = this.checkpoints.get(checkpointId)?.work ?? NO_FILES;
  }

  /** What a rollback of a run that begins now brings back. */
  beginRun(): () => void {
    const { work, headId } = this;
    const before = new Set(this.checkpoints.keys());
    return () => {
      this.work = work;
      this.headId = headId;
      for (const id of this.checkpoints.keys()) if (!before.has(id)) this.checkpoints.delete(id);
    };
  }

  /** A copy of the thread, or of what it was at a checkpoint. */
  copy(threadId: string, checkpointId?: string): ThreadModel {
    const copy = new ThreadModel(threadId);
    const point = checkpointId === undefined ? this.now : this.checkpoints.get(checkpointId);
    copy.work = point?.work ?? NO_FILES;
    copy.uploads = point?.uploads ?? NO_FILES;
    copy.headId = checkpointId ?? this.headId;
    const isOf = (id: string): boolean => checkpointId === undefined || id <= checkpointId;
    copy.checkpoints = new Map([...this.checkpoints].filter(([id]) => isOf(id)));
    return copy;
  }
}

export const allFiles = ({ work, uploads }: Point): Files => new Map([...work, ...uploads]);

const hashes = new Map<string, string>();

/** Checksums by path, in the order of the paths. */
export function checksumsOf(files: Files): Record<string, string> {
  const sums: Record<string, string> = {};
  for (const path of [...files.keys()].sort()) sums[path] = checksum(files.get(path) ?? '');
  return sums;
}

export function checksum(content: string): string {
  let hash = hashes.get(content);
  if (hash === undefined) {
    hash = createHash('sha256').update(content).digest('hex');
    hashes.set(content, hash);
  }
  return hash;
}

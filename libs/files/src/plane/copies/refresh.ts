import { DATA_DIRECTORIES, FILE_PARTS, type FileHead, type FileTrees, type ThreadKey } from '@caribou/core';
import { emptyDirectory } from '../../empty-directory.js';
import { threadFiles } from '../../thread-files.js';
import { type CopyIndex, isOfOtherFiles, newIndex, NO_HOME } from '../local/copy-index.js';
import { LocalWriter } from '../local/local-writer.js';
import { type LocalChanges, scan, type ScanTarget } from '../local/scan.js';
import { readTrees } from '../store/object-tree-store.js';
import { type CopyParts, hasData, withCopy } from './open-copy.js';
import { pathsOf, planRefresh, type RefreshPlan } from './refresh-plan.js';
import { RefreshRun } from './refresh-run.js';

export interface Refreshed {
  /** Files that were fetched, and their bytes. */
  readonly files: number;
  readonly bytes: number;
  /** Entries that were removed. */
  readonly removed: number;
  /** Paths with local changes that are not published, which were kept. */
  readonly kept: number;
  readonly ms: number;
}

const NOTHING = { files: 0, bytes: 0, removed: 0, kept: 0 };

/** Makes the local copy of a thread equal to the head: see WorkingCopies. */
export async function refreshCopy(parts: CopyParts, thread: ThreadKey, head: FileHead | null): Promise<Refreshed> {
  const startMs = performance.now();
  const wasWhole = hasData(parts.homeDir, thread);
  const data = threadFiles(parts.homeDir, parts.owner);
  await data.prepare(thread);
  await parts.indexes.prepare(thread);
  const owner = await data.ownerOf(thread);
  const done = await withCopy(parts, thread, async (target, record) => {
    const refresh = new Refresh({ ...parts, owner }, thread, target);
    await refresh.clearStaging();
    if (record === 'lost' || (record === 'kept' && !wasWhole)) return refresh.restart(head);
    if (record === 'none') refresh.start(refresh.isEmpty() ? NO_HOME : null);
    return head === null ? refresh.withoutHead() : refresh.follow(head);
  });
  return { ...done, ms: performance.now() - startMs };
}

/** Whether both name the same trees. */
export const sameTrees = (left: FileTrees | null, right: FileTrees): boolean =>
  left !== null && FILE_PARTS.every((part) => left[part] === right[part]);

/** Entries that are as they were, but may change without a trace. */
const racyOf = ({ settled, resolved }: LocalChanges): readonly string[] =>
  [...settled.keys()].filter((path) => !resolved.has(path));

type Done = Omit<Refreshed, 'ms'>;

class Refresh {
  private readonly writer: LocalWriter;

  constructor(
    private readonly parts: CopyParts,
    private readonly thread: ThreadKey,
    private readonly target: ScanTarget,
  ) {
    this.writer = new LocalWriter(target.local, parts.indexes.stagingOf(thread), parts.owner);
  }

  async clearStaging(): Promise<void> {
    const { indexes } = this.parts;
    if (!indexes.hasLeftovers(this.thread)) return;
    await emptyDirectory(indexes.stagingOf(this.thread), new AbortController().signal);
  }

  /** Whether the directories have nothing in them. */
  isEmpty(): boolean {
    return DATA_DIRECTORIES.every((directory) => this.target.local.names(directory, 1).length === 0);
  }

  /** Without an index, or without the directories that it is of: files that equal the head's stay, the head replaces all others. */
  async restart(head: FileHead | null): Promise<Done> {
    this.start(head?.home ?? NO_HOME);
    return head === null ? NOTHING : this.equal(head, false);
  }

  /** A copy of files that do not exist any more is emptied; one that was never published stays. */
  async withoutHead(): Promise<Done> {
    if (isOfOtherFiles(this.target.index.state, null)) await this.empty(NO_HOME);
    return NOTHING;
  }

  async follow(head: FileHead): Promise<Done> {
    const { home, generation, trees } = this.target.index.state;
    if (isOfOtherFiles(this.target.index.state, head)) {
      await this.empty(head.home);
      return this.equal(head, false);
    }
    const isImport = home === null;
    const keepsLocal = head.resetAt <= generation && (isImport || head.takenAt <= generation);
    if (keepsLocal && home === head.home && sameTrees(trees, head.trees) && this.target.index.underWay.size === 0) {
      if (generation !== head.generation) this.record({ ...this.target.index.state, generation: head.generation });
      return NOTHING;
    }
    return this.equal(head, keepsLocal);
  }

  private record(state: CopyIndex['state']): void {
    this.parts.indexes.append(this.thread, { state });
  }

  /** Begins an index that says nothing yet but whose files these are. */
  start(home: string | null): void {
    const index = newIndex();
    index.state = { ...index.state, home };
    this.parts.indexes.write(this.thread, index);
  }

  /** The files go before the index, which says whose they are: stopped in between, the next refresh does it again. */
  private async empty(home: string): Promise<void> {
    for (const directory of DATA_DIRECTORIES) {
      for (const name of this.target.local.names(directory, Number.POSITIVE_INFINITY))
        this.writer.moveOut(`${directory}/${name}`);
    }
    this.start(home);
    await this.clearStaging();
  }

  private async equal(head: FileHead, keepsLocal: boolean): Promise<Done> {
    const { indexes, store } = this.parts;
    const index = indexes.load(this.thread) ?? newIndex();
    const target: ScanTarget = { ...this.target, index };
    const [trees, changes] = await Promise.all([readTrees(store, this.thread.userId, head.trees), scan(target)]);
    const plan = planRefresh({ trees, index, changes, keepsLocal });
    const underWay = new Set([...index.underWay, ...pathsOf(plan)]);
    if (underWay.size > 0) indexes.append(this.thread, { underWay });
    const run = new RefreshRun({ local: target.local, writer: this.writer, store }, plan, !keepsLocal);
    await run.run();
    this.finish(head, { changes, plan, run });
    await this.clearStaging();
    return { files: run.files, bytes: run.bytes, removed: run.removed.length, kept: plan.kept.size };
  }

  private finish(
    head: FileHead,
    { changes, plan, run }: { readonly changes: LocalChanges; readonly plan: RefreshPlan; readonly run: RefreshRun },
  ): void {
    // A path that was looked at again, and found as it was, may be among those that were removed.
    const gone = new Set([...run.removed, ...run.obstructed]);
    const settled = [...changes.settled].filter(([path]) => !gone.has(path));
    this.parts.indexes.append(this.thread, {
      state: {
        home: head.home,
        generation: head.generation,
        trees: run.obstructed.size === 0 ? head.trees : null,
        clockMs: changes.clockMs,
      },
      set: new Map([...settled, ...run.entries]),
      removed: gone,
      dirty: new Set([...racyOf(changes), ...plan.kept, ...run.obstructed]),
      underWay: new Set(),
    });
  }
}

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FileCommit, FileHead, ThreadKey } from '@caribou/core';
import { objectTreeStore, publishFiles, treeFiles, WorkingCopies } from '@caribou/files';
import { inTurn, median } from '../sample.js';
import { folderObjects } from './folder-objects.js';

/** What files in an object store cost a machine, in milliseconds; the store is a folder on the same disk. */
export interface FilesCost {
  /** All of 20,000 small files are published for the first time. */
  readonly firstPublishMs: number;
  /** One of them was changed: scan, content, tree and index, without Redis. */
  readonly publishOneMs: number;
  /** None was. */
  readonly publishNoneMs: number;
  /** The files of one directory of that tree, as a gateway lists them. */
  readonly listMs: number;
  /** 50 MB in 1,000 files come to an empty machine. */
  readonly refreshMs: number;
}

const THREAD: ThreadKey = { userId: 'bench', threadId: 'bench' };
const WRITER = { managerId: 'bench', machine: 'bench' };
const DIRECTORIES = 400;
const FILES_PER_DIRECTORY = 50;
const LARGE_FILES = 1_000;
const LARGE_BYTES = 50_000;

/** A thread with its own store and home. */
class Subject {
  readonly folder = mkdtempSync(join(tmpdir(), 'caribou-bench-files-'));
  readonly store = objectTreeStore(folderObjects(join(this.folder, 'objects')));
  head: FileHead | null = null;
  private readonly copies = this.machine('home');

  machine(name: string): WorkingCopies {
    return new WorkingCopies({ homeDir: join(this.folder, name), store: this.store });
  }

  path(...names: string[]): string {
    return join(this.folder, 'home/users/bench/threads/bench/user-data/workspace', ...names);
  }

  refresh(): Promise<unknown> {
    return this.copies.refresh(THREAD, this.head);
  }

  async publish(): Promise<void> {
    const generations = {
      noteUnpublished: () => Promise.resolve(),
      commit: (_: ThreadKey, { trees, bytes, files }: FileCommit) => {
        const generation = (this.head?.generation ?? 0) + 1;
        this.head = { home: 'bench', resetAt: 0, generation, trees, bytes, files };
        return Promise.resolve({ committed: true, head: this.head });
      },
    };
    const published = await publishFiles(
      { copies: this.copies, generations },
      { thread: THREAD, writer: WRITER, head: this.head, maxDirectBytes: Number.POSITIVE_INFINITY },
    );
    if (published.outcome === 'deferred') await published.finish();
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

/** Measures each of the smaller figures `rounds` times. */
export async function filesCost(rounds: number): Promise<FilesCost> {
  const many = await costOfMany(rounds);
  const refreshMs = median(await inTurn(Math.max(3, Math.ceil(rounds / 5)), refreshOnce));
  return { ...many, refreshMs };
}

async function costOfMany(rounds: number): Promise<Omit<FilesCost, 'refreshMs'>> {
  const subject = new Subject();
  try {
    await subject.refresh();
    for (let directory = 0; directory < DIRECTORIES; directory += 1) {
      mkdirSync(subject.path(`d${directory}`));
      for (let file = 0; file < FILES_PER_DIRECTORY; file += 1) {
        writeFileSync(subject.path(`d${directory}`, `f${file}`), `content of ${directory} ${file}`);
      }
    }
    const firstPublishMs = await timeOf(() => subject.publish());
    const publishNoneMs = median(await inTurn(rounds, () => timeOf(() => subject.publish())));
    const publishOneMs = median(
      await inTurn(rounds, (round) => {
        writeFileSync(subject.path(`d${round}`, 'f7'), `changed in round ${round}`);
        return timeOf(() => subject.publish());
      }),
    );
    const { trees = {} } = subject.head ?? {};
    const listMs = median(
      await inTurn(rounds, () =>
        timeOf(async () => treeFiles.list(await subject.store.read(THREAD.userId, trees, 'work'), 'workspace', 100)),
      ),
    );
    return { firstPublishMs, publishOneMs, publishNoneMs, listMs };
  } finally {
    subject.close();
  }
}

async function refreshOnce(): Promise<number> {
  const subject = new Subject();
  try {
    await subject.refresh();
    for (let file = 0; file < LARGE_FILES; file += 1) {
      writeFileSync(subject.path(`f${file}`), Buffer.alloc(LARGE_BYTES, `${file} `));
    }
    await subject.publish();
    const other = subject.machine('other');
    return await timeOf(() => other.refresh(THREAD, subject.head));
  } finally {
    subject.close();
  }
}

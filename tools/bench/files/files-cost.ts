import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { objectStoreConfig } from '@caribou/config';
import { type FileCommit, type FileHead, silentLogger, type ThreadKey } from '@caribou/core';
import { objectTreeStore, publishFiles, treeFiles, WorkingCopies } from '@caribou/files';
import { openObjectStore } from '@caribou/objects';
import { inTurn, median } from '../sample.js';

/** What many small files in an object store cost a machine, in milliseconds; the store is a folder on the same disk. */
export interface ManyFilesCost {
  /** All of 20,000 small files are published for the first time. */
  readonly firstPublishMs: number;
  /** One of them was changed: scan, content, tree and index, without Redis. */
  readonly publishOneMs: number;
  /** None was. */
  readonly publishNoneMs: number;
  /** The files of one directory of that tree, as a gateway lists them. */
  readonly listMs: number;
}

export interface RefreshCost {
  /** 50 MB in 1,000 files come to an empty machine, and the same files are written and renamed with nothing else, right after. */
  readonly refreshMs: number;
  readonly plainMs: number;
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
  readonly store = objectTreeStore(openObjectStore(objectStoreConfig({}, this.folder), silentLogger));
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
        this.head = { home: 'bench', resetAt: 0, takenAt: 0, generation, trees, bytes, files };
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

/** Measures each figure but the first `rounds` times. */
export async function manyFilesCost(rounds: number): Promise<ManyFilesCost> {
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

/**
 * No file is removed before all rounds are over: ext4 uses the inode of a removed file only minutes later, and looks at all of these for
 * each file that is made meanwhile. What others have removed shows in the time that plain files take.
 */
export async function refreshCost(rounds: number): Promise<RefreshCost> {
  const subjects: Subject[] = [];
  try {
    const times = await inTurn(rounds, async () => {
      const subject = new Subject();
      subjects.push(subject);
      await subject.refresh();
      writeLargeFiles((name) => subject.path(name));
      await subject.publish();
      const other = subject.machine('other');
      const refreshMs = await timeOf(() => other.refresh(THREAD, subject.head));
      const plain = mkdtempSync(join(subject.folder, 'plain-'));
      return { refreshMs, plainMs: await timeOf(async () => writeLargeFiles((name) => join(plain, name))) };
    });
    return {
      refreshMs: median(times.map((each) => each.refreshMs)),
      plainMs: median(times.map((each) => each.plainMs)),
    };
  } finally {
    for (const subject of subjects) subject.close();
  }
}

function writeLargeFiles(pathOf: (name: string) => string): void {
  for (let file = 0; file < LARGE_FILES; file += 1) {
    writeFileSync(pathOf('draft'), Buffer.alloc(LARGE_BYTES, `${file} `));
    renameSync(pathOf('draft'), pathOf(`f${file}`));
  }
}

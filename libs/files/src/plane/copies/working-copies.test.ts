import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { commandIdentity } from '@caribou/core';
import { type Machine, PlaneFixture } from '../../testing/plane-fixture.js';
import { makeChange, randomChange } from '../../testing/random-changes.js';

const thread = { userId: 'Alice', threadId: 't1' };
const isRoot = process.getuid?.() === 0;
const asRoot = isRoot ? test : test.skip;

let plane: PlaneFixture;
let first: Machine;
let second: Machine;
beforeEach(async () => {
  plane = new PlaneFixture();
  first = plane.machine();
  second = plane.machine();
  await first.refresh(thread);
});
afterEach(() => plane.close());

const at = (machine: Machine, path: string): string => join(machine.userData(thread), path);
const write = (machine: Machine, path: string, content: string): void => {
  mkdirSync(join(at(machine, path), '..'), { recursive: true });
  writeFileSync(at(machine, path), content);
};
const read = (machine: Machine, path: string): string => readFileSync(at(machine, path), 'utf8');

describe('WorkingCopies', () => {
  asRoot.each([
    { how: 'walked', maxWalked: 2_000, minShare: 2_000, runs: 40 },
    { how: 'scanned by find', maxWalked: 0, minShare: 2_000, runs: 10 },
    { how: 'scanned by two finds', maxWalked: 0, minShare: 0, runs: 10 },
  ])(
    'any history of changes is the same on another machine, $how',
    async ({ maxWalked, minShare, runs }) => {
      const rounds = fc.array(fc.array(randomChange, { maxLength: 12 }), { minLength: 1, maxLength: 5 });
      await fc.assert(
        fc.asyncProperty(rounds, async (history) => {
          const own = new PlaneFixture();
          try {
            const machines = [own.machine(maxWalked, minShare), own.machine(maxWalked, minShare)] as const;
            for (const [round, changes] of history.entries()) {
              const [worker, other] = round % 2 === 0 ? machines : [machines[1], machines[0]];
              await worker.refresh(thread);
              for (const change of changes) makeChange(worker.roots(thread), change);
              const published = await worker.publish(thread);
              if (round % 3 === 2) other.restart();
              await other.refresh(thread);
              expect(other.snapshot(thread)).toEqual(worker.snapshot(thread));
              expect((await worker.publish(thread)).outcome).toBe('unchanged');
              expect(published.outcome).not.toBe('replaced');
            }
          } finally {
            own.close();
          }
        }),
        { numRuns: runs },
      );
    },
    120_000,
  );

  test('what is copied belongs to the user of commands, without setuid and with its mode and time', async () => {
    write(first, 'workspace/bin/tool', 'tool');
    chmodSync(at(first, 'workspace/bin/tool'), 0o6751);
    await first.publish(thread);
    await second.refresh(thread);
    const stat = statSync(at(second, 'workspace/bin/tool'));
    const owner = commandIdentity();
    expect(stat.mode & 0o7777).toBe(0o751);
    expect([stat.uid, stat.gid]).toEqual([owner.uid, owner.gid]);
    const directory = statSync(at(second, 'workspace/bin'));
    expect([directory.uid, directory.gid]).toEqual([owner.uid, owner.gid]);
  });

  test('FIFOs are left out and counted, each name of a hard link becomes a file, and holes stay holes', async () => {
    write(first, 'workspace/a', 'one file');
    linkSync(at(first, 'workspace/a'), at(first, 'workspace/b'));
    execFileSync('mkfifo', [at(first, 'workspace/fifo')]);
    write(first, 'workspace/sparse', '');
    truncateSync(at(first, 'workspace/sparse'), 4 * 1024 * 1024);
    const plan = await first.copies.publish(thread, { head: null });
    expect(plan?.skipped).toEqual({ special: 1, closed: 0, tooDeep: 0, tooLarge: 0 });
    await first.publish(thread);
    await second.refresh(thread);
    expect(existsSync(at(second, 'workspace/fifo'))).toBe(false);
    expect(read(second, 'workspace/b')).toBe('one file');
    expect(statSync(at(second, 'workspace/b')).nlink).toBe(1);
    const sparse = statSync(at(second, 'workspace/sparse'));
    expect([sparse.size, sparse.blocks < 1_000]).toEqual([4 * 1024 * 1024, true]);
  });

  test('changes of others are taken over, and local ones win path by path', async () => {
    write(first, 'workspace/shared', 'old');
    write(first, 'workspace/mine', 'old');
    await first.publish(thread);
    await second.refresh(thread);
    write(second, 'workspace/shared', 'by the second');
    write(second, 'uploads/new', 'by the second');
    await second.publish(thread);
    write(first, 'workspace/shared', 'by the first');
    rmSync(at(first, 'workspace/mine'));
    const published = await first.publish(thread);
    expect(published).toMatchObject({ outcome: 'published', head: { generation: 3, files: 2 } });
    expect(existsSync(at(first, 'uploads/new'))).toBe(false);
    await first.refresh(thread);
    await second.refresh(thread);
    expect(read(first, 'uploads/new')).toBe('by the second');
    expect(second.snapshot(thread)).toEqual(first.snapshot(thread));
    expect(read(second, 'workspace/shared')).toBe('by the first');
    expect(existsSync(at(second, 'workspace/mine'))).toBe(false);
  });

  test('a commit that meets another head is made again on it, without storing contents again', async () => {
    write(first, 'workspace/a', 'a'.repeat(3_000));
    await first.publish(thread);
    await second.refresh(thread);
    write(first, 'workspace/large', 'b'.repeat(3_000));
    write(second, 'workspace/other', 'other');
    let meddles = true;
    plane.generations.beforeCommit = async () => {
      if (!meddles) return;
      meddles = false;
      await second.publish(thread);
    };
    expect(await first.publish(thread)).toMatchObject({ outcome: 'published', head: { generation: 3, files: 3 } });
    const blobs = [...plane.objects.objects.keys()].filter((key) => key.startsWith('blobs/a.lice/'));
    expect(blobs).toHaveLength(2);
  });

  test('local changes that are not published stay with a newer head, and are dropped when the files were set back', async () => {
    write(first, 'workspace/a', 'one');
    await first.publish(thread);
    const early = await plane.generations.head(thread);
    await second.refresh(thread);
    write(second, 'workspace/b', 'two');
    await second.publish(thread);
    write(first, 'workspace/a', 'not published');
    write(first, 'workspace/local', 'not published');
    expect(await first.refresh(thread)).toMatchObject({ files: 1, kept: 2 });
    expect([read(first, 'workspace/a'), read(first, 'workspace/b')]).toEqual(['not published', 'two']);

    const head = plane.generations.restore(thread, { trees: early?.trees ?? {} });
    expect(await first.copies.publish(thread, { head })).toBeNull();
    await first.refresh(thread);
    expect(readdirSync(at(first, 'workspace'))).toEqual(['a']);
    expect(read(first, 'workspace/a')).toBe('one');
    expect((await first.publish(thread)).outcome).toBe('unchanged');
  });

  test('a file that a return to an earlier point removed is fetched again when a later point has it', async () => {
    // Published at once, so that the next scan looks at it again.
    write(first, 'workspace/d/a', 'one');
    const later = (await first.publish(thread)).head;
    plane.generations.restore(thread, { trees: {} });
    await first.refresh(thread);
    expect(readdirSync(at(first, 'workspace'))).toEqual([]);
    plane.generations.restore(thread, { trees: later?.trees ?? {} });
    await first.refresh(thread);
    expect(read(first, 'workspace/d/a')).toBe('one');
    expect((await first.publish(thread)).outcome).toBe('unchanged');
  });

  test('a copy of files of another home is emptied, and one without a head too', async () => {
    write(first, 'workspace/secret', 'of the former thread');
    await first.publish(thread);
    plane.generations.heads.delete(thread.threadId);
    await second.refresh(thread);
    write(second, 'workspace/a', 'of the new thread');
    await second.publish(thread);
    const inode = statSync(at(first, 'workspace')).ino;
    await first.refresh(thread);
    expect(first.snapshot(thread)).toEqual(second.snapshot(thread));
    expect(statSync(at(first, 'workspace')).ino).toBe(inode);
    plane.generations.heads.delete(thread.threadId);
    await first.refresh(thread);
    expect(readdirSync(at(first, 'workspace'))).toEqual([]);
    expect((await first.publish(thread)).outcome).toBe('unchanged');
  });

  test('files that were there before the thread had a head or an index are published, beside those of the head', async () => {
    await second.refresh(thread);
    write(second, 'uploads/by a person', 'new');
    await second.publish(thread);
    const former = plane.machine();
    write(former, 'workspace/former', 'old');
    for (const path of ['outputs', 'uploads']) mkdirSync(at(former, path));
    expect(await former.refresh(thread)).toMatchObject({ files: 1, kept: 1 });
    expect(await former.publish(thread)).toMatchObject({ outcome: 'published', head: { files: 2 } });
    await second.refresh(thread);
    expect(read(second, 'workspace/former')).toBe('old');
  });

  test('what happened while changes were stored in the background is not forgotten', async () => {
    write(first, 'workspace/large', 'x'.repeat(5_000));
    const plan = await first.copies.publish(thread, { head: null });
    write(first, 'workspace/later', 'y');
    const stored = await plan?.store();
    const head = {
      home: 'h',
      generation: 1,
      resetAt: 0,
      takenAt: 0,
      trees: stored?.trees ?? {},
      bytes: 5_000,
      files: 1,
    };
    plane.generations.heads.set(thread.threadId, head);
    stored?.record(head);
    expect(await first.publish(thread)).toMatchObject({ outcome: 'published', changed: 1, head: { files: 2 } });
  });

  test.each(['lost', 'damaged'])(
    'a copy whose index is %s is made equal to the head without fetching what is there',
    async (how) => {
      write(first, 'workspace/a', 'a');
      write(first, 'outputs/b', 'b');
      await first.publish(thread);
      write(first, 'workspace/never published', 'x');
      const index = join(first.userData(thread), '../copy/index');
      if (how === 'lost') rmSync(index);
      else writeFileSync(index, 'damaged');
      first.restart();
      expect(await first.refresh(thread)).toMatchObject({ files: 0, removed: 1 });
      await second.refresh(thread);
      expect(first.snapshot(thread)).toEqual(second.snapshot(thread));
      expect((await first.publish(thread)).outcome).toBe('unchanged');
    },
  );

  test('a refresh that died is completed by the next, which takes nothing of it for a local change', async () => {
    for (let n = 0; n < 12; n += 1) write(first, `workspace/d${n}/file`, `${n}`.repeat(700));
    await first.publish(thread);
    plane.objects.calls.get = plane.objects.calls.put = 0;
    plane.objects.failure = (call) => (call > 7 ? 'before' : undefined);
    await expect(second.refresh(thread)).rejects.toThrow('away');
    plane.objects.failure = () => undefined;
    second.restart();
    write(first, 'workspace/d0/file', 'newer');
    await first.publish(thread);
    expect((await second.publish(thread)).outcome).toBe('unchanged');
    await second.refresh(thread);
    expect(second.snapshot(thread)).toEqual(first.snapshot(thread));
  });

  test('after a file tool only its path is looked at; everything else is found by the next scan', async () => {
    write(first, 'workspace/deep/tool', 'written');
    write(first, 'workspace/other', 'by a command');
    const paths = ['/mnt/user-data/workspace/deep/tool', '/etc/passwd'];
    expect(await first.publish(thread, paths)).toMatchObject({ outcome: 'published', head: { files: 1 } });
    expect(await first.publish(thread)).toMatchObject({ outcome: 'published', head: { files: 2 } });
    rmSync(at(first, 'workspace/deep/tool'));
    expect(await first.publish(thread, paths)).toMatchObject({ outcome: 'published', head: { files: 1 } });
  });

  test('much is not waited for: it is noted, and published in the background', async () => {
    write(first, 'workspace/large', 'x'.repeat(5_000));
    const outcome = await first.publishOrDefer(thread, { maxDirectBytes: 1_000 });
    expect([...plane.generations.unpublished.keys()]).toEqual([thread.threadId]);
    if (outcome.outcome !== 'deferred') throw new Error('it was waited for');
    expect([outcome.bytes, plane.objects.calls.put]).toEqual([5_000, 0]);
    expect(await outcome.finish()).toMatchObject({ outcome: 'published', bytes: 5_000 });
    await second.refresh(thread);
    expect(read(second, 'workspace/large')).toBe('x'.repeat(5_000));
  });

  test('links are copied as they are and never followed, wherever they lead', async () => {
    const outside = join(first.homeDir, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'canary'), 'canary');
    symlinkSync(outside, at(first, 'workspace/away'));
    await first.publish(thread);
    await second.refresh(thread);
    rmSync(at(first, 'workspace/away'));
    write(first, 'workspace/away/canary', 'inside');
    await first.publish(thread);
    symlinkSync(outside, at(second, 'workspace/trap'));
    await second.refresh(thread);
    expect(lstatSync(at(second, 'workspace/away')).isDirectory()).toBe(true);
    expect(readFileSync(join(outside, 'canary'), 'utf8')).toBe('canary');
  });
});

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@caribou/core';
import { type ThreadFiles, userFiles, WorkspaceQuota } from '@caribou/files';
import { type CommandResult, type SandboxSpec, type SandboxDriver, withinQuota } from '@caribou/sandbox';
import type { SandboxDriverUnderTest } from './sandbox-driver.js';
import { ON_MACHINE_KERNEL } from './sandbox-traits.js';

const MiB = 1024 * 1024;
const LIMITS = { workspaceBytes: 20 * MiB, workspaceFiles: 500, minFreeBytes: 24 * MiB };
const NOTES = '/mnt/user-data/outputs/notes';

const SMALL_DISK = ['-t', 'tmpfs', '-o', 'size=64m,mode=0755', 'caribou-test'];

/** Whether this process may mount; an engine on the same machine sees its mounts. */
function canMount(): boolean {
  if (process.getuid?.() !== 0) return false;
  const place = mkdtempSync(join(tmpdir(), 'caribou-mount-'));
  try {
    if (spawnSync('mount', [...SMALL_DISK, place]).status !== 0) return false;
    return spawnSync('umount', [place]).status === 0;
  } finally {
    rmdirSync(place);
  }
}

/** Tests the limit on the disk space of a thread, for every driver. */
export function describeWorkspaceQuota(name: string, underTest: SandboxDriverUnderTest): void {
  describe(`${name} within a quota`, () => {
    let home: string;
    let driver: SandboxDriver;
    let files: ThreadFiles;
    const sandbox: SandboxSpec = {
      sandboxId: `caribou-quota-${process.pid}`,
      managerId: 'm1',
      userId: 'default',
      threadId: 'full',
    };
    const run = (command: string): Promise<CommandResult> =>
      driver.exec(sandbox, { command, timeoutMs: 60_000, maxOutputBytes: 8192 }, new AbortController().signal);
    const write = (text: string): Promise<unknown> => files.replace(sandbox, NOTES, Buffer.from(text));

    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), 'caribou-quota-'));
      mkdirSync(join(home, 'skills'));
      const plain = underTest.files(home);
      const quota = new WorkspaceQuota(plain, LIMITS);
      driver = withinQuota(await underTest.make(home, LIMITS), quota, systemClock);
      files = quota.guard(plain);
      await driver.create(sandbox, { fresh: true });
    }, 60_000);
    afterEach(async () => {
      await run('cd ..; for d in workspace uploads outputs; do find $d -type f -exec rm -f {} +; rm -rf $d/*; done');
    });
    afterAll(async () => {
      await driver.remove(sandbox);
      rmSync(home, { recursive: true, force: true });
    }, 60_000);

    /** Fills the disk at 4 MiB in a tenth of a second, each file within the limit of one, and none with holes. */
    const FILL = 'i=0; while :; do yes | head -c 4194304 > fill$i; i=$((i+1)); sleep 0.1; done';

    test('a command that fills the disk is ended with a reason; the next ones can free space, and then write again', async () => {
      const filling = await run(FILL);
      expect(filling).toMatchObject({ endedBy: 'quota', exitCode: 137 });
      expect(filling.stderr).toMatch(
        /\[ended: this thread's files take \S+ MiB, and may take 20 MiB. Remove files to go on.\]/,
      );

      const more = await run('yes | head -c 1000000 > more; ls fill0');
      expect(more).toMatchObject({ stdout: 'fill0\n', endedBy: 'exit' });
      expect(more.stderr).toMatch(/\[nothing can be written: this thread's files take /);
      await expect(write('notes')).rejects.toMatchObject({
        reason: 'no_space',
        message: expect.stringMatching(/may take 20 MiB$/),
      });

      const freed = await run('rm fill* more; echo freed');
      expect(freed).toMatchObject({ stdout: 'freed\n', stderr: '', exitCode: 0 });
      expect(await run('head -c 1000000 /dev/zero > again; wc -c < again')).toMatchObject({
        stdout: '1000000\n',
        stderr: '',
      });
      expect(await write('notes')).toBe(5);
    }, 90_000);

    test('in a thread over the quota a command that makes more and more small files is ended', async () => {
      await run(FILL);

      const small = await run('i=0; while :; do echo x > small$i; i=$((i+1)); done');
      expect(small).toMatchObject({ endedBy: 'quota', exitCode: 137 });
    }, 90_000);

    test('files are counted as well as bytes, and directories that are nested without end are too many', async () => {
      const many = await run('i=0; while :; do : > f$i; i=$((i+1)); [ $((i % 200)) -gt 0 ] || sleep 0.1; done');
      expect(many).toMatchObject({
        endedBy: 'quota',
        stderr: expect.stringMatching(/this thread has \d+ files, and may have 500/),
      });
      await expect(files.append(sandbox, NOTES, Buffer.from('x'))).rejects.toMatchObject({ reason: 'no_space' });
      await run('find . .. -type f -exec rm -f {} +');

      const deep = await run('i=0; while [ $i -lt 80 ]; do mkdir d; cd d; i=$((i+1)); done; sleep 30');
      expect(deep).toMatchObject({ endedBy: 'quota', stderr: expect.stringMatching(/nested deeper than 64 levels/) });
    }, 90_000);

    test('holes of a sparse file and hard links of a file do not count', async () => {
      const result = await run(
        'i=0; while [ $i -lt 30 ]; do truncate -s 10M s$i; i=$((i+1)); done; head -c 9000000 /dev/zero > a; ln a b; ln a c; sleep 1.5',
      );

      expect(result).toMatchObject({ endedBy: 'exit', exitCode: 0, stderr: '' });
      expect(await write('notes')).toBe(5);
    }, 60_000);

    const { traits = ON_MACHINE_KERNEL } = underTest;
    // Where files are not shared with the host, its disk is not theirs.
    (traits.sharesFiles && canMount() ? test : test.skip)(
      'removed files that a command still writes to do not fill the disk (where a disk of its own can be mounted)',
      async () => {
        const disk = mkdtempSync(join(tmpdir(), 'caribou-disk-'));
        execFileSync('mount', [...SMALL_DISK, disk]);
        const hidden = { ...sandbox, sandboxId: `${sandbox.sandboxId}-disk` };
        const inside = await underTest.make(disk);
        const within = withinQuota(inside, new WorkspaceQuota(underTest.files(disk), LIMITS), systemClock);
        try {
          await within.create(hidden, { fresh: true });
          const fill =
            'for n in 3 4 5 6 7 8; do eval "exec $n>hidden"; rm hidden; head -c 8000000 /dev/zero >&$n; done; sleep 30';
          const command = { command: fill, timeoutMs: 60_000, maxOutputBytes: 8192 };
          const filling = await within.exec(hidden, command, new AbortController().signal);

          expect(filling).toMatchObject({
            endedBy: 'quota',
            stderr: expect.stringMatching(/the disk has \S+ MiB left/),
          });
          expect(statfsSync(disk).bavail * statfsSync(disk).bsize).toBeGreaterThan(60 * MiB);
        } finally {
          await within.remove(hidden);
          execFileSync('umount', ['--lazy', disk]);
          rmdirSync(disk);
        }
      },
      60_000,
    );

    test('an upload that would pass the quota is refused with the limit, and leaves nothing', async () => {
      const users = userFiles(home, LIMITS);
      async function* chunks(count: number): AsyncGenerator<Uint8Array> {
        for (let index = 0; index < count; index += 1) yield await Promise.resolve(Buffer.alloc(MiB));
      }
      const upload = async (name: string, count: number): Promise<unknown> => {
        const intake = await users.openIntake(sandbox);
        try {
          return await (await intake.receive(chunks(count), 100 * MiB)).publish(name);
        } finally {
          await intake.close();
        }
      };
      expect(await upload('large', 15)).toMatchObject({ name: 'large' });
      await expect(upload('more', 15)).rejects.toMatchObject({
        reason: 'no_space',
        message: expect.stringMatching(/may take 20 MiB/),
      });
      expect((await users.list(sandbox, 'uploads', 10)).files.map((file) => file.name)).toEqual(['large']);
      expect(await run('ls ../uploads')).toMatchObject({ stdout: 'large\n', stderr: '' });
      await users.remove(sandbox, '/mnt/user-data/uploads/large');
      expect(await write('room')).toBe(4);
      expect(readFileSync(join(files.hostPath(sandbox, 'outputs'), 'notes'), 'utf8')).toBe('room');
    });
  });
}

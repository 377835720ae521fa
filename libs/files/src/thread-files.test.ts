import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { commandIdentity } from '@caribou/core';
import { FileRefusedError } from './file-refused.js';
import { exchangeLoop } from './testing/exchange-loop.js';
import { reasonOf } from './testing/refusal-reason.js';
import { type ThreadFiles, threadFiles } from './thread-files.js';

const thread = { userId: 'default', threadId: 't1' };
const owner = commandIdentity();
const text = (content: string): Uint8Array => Buffer.from(content);

let home: string;
let files: ThreadFiles;
let workspace: string;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'caribou-files-'));
  files = threadFiles(home, owner);
  await files.prepare(thread);
  workspace = files.hostPath(thread, 'workspace');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

async function read(path: string): Promise<string> {
  const handle = await files.openFile(thread, path);
  try {
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

describe('threadFiles', () => {
  test('writes, appends and reads below each directory, making the directories above the file', async () => {
    await files.replace(thread, '/mnt/user-data/outputs/a/b/c.txt', text('one\n'));
    await files.append(thread, '/mnt/user-data/outputs/a/b/c.txt', text('two\n'));
    await files.append(thread, '/mnt/user-data/uploads/new.txt', text('three'));

    expect(await read('/mnt/user-data/outputs/a/b/c.txt')).toBe('one\ntwo\n');
    expect(await read('/mnt/user-data/uploads/new.txt')).toBe('three');
  });

  test('gives what it creates to the user of commands, and hides the data of a thread from others (F5)', async () => {
    await files.replace(thread, '/mnt/user-data/workspace/d/f', text('x'));

    for (const made of [workspace, join(workspace, 'd'), join(workspace, 'd/f'), join(workspace, '..')]) {
      expect([statSync(made).uid, statSync(made).gid]).toEqual([owner.uid, owner.gid]);
    }
    expect(statSync(join(workspace, '..')).mode & 0o777).toBe(0o700);
  });

  test('completes a directory that its maker, killed in between, had not given to its owner', async () => {
    const made = (threadId: string) => {
      const data = files.hostPath({ ...thread, threadId }, 'workspace');
      return [data, dirname(data), dirname(dirname(data))];
    };
    const half = made('half');
    await files.prepare({ ...thread, threadId: 'whole' });
    for (const path of half) mkdirSync(path, { recursive: true, mode: 0o700 });

    await files.prepare({ ...thread, threadId: 'half' });

    const modes = (paths: readonly string[]) => paths.map((path) => statSync(path)).map((s) => [s.uid, s.gid, s.mode]);
    expect(modes(half)).toEqual(modes(made('whole')));
  });

  test('keeps the permission bits of a file it replaces, never setuid (F5)', async () => {
    writeFileSync(join(workspace, 'run.sh'), 'old');
    chmodSync(join(workspace, 'run.sh'), 0o4755);

    await files.replace(thread, '/mnt/user-data/workspace/run.sh', text('new'));

    expect(statSync(join(workspace, 'run.sh')).mode & 0o7777).toBe(0o755);
  });

  test('refuses links, FIFOs, sockets, devices, directories and hard links (F1, F2)', async () => {
    const secret = join(home, 'secret');
    writeFileSync(secret, 'secret');
    symlinkSync(secret, join(workspace, 'link'));
    symlinkSync(home, join(workspace, 'up'));
    symlinkSync('link', join(workspace, 'link-to-link'));
    linkSync(secret, join(workspace, 'hard'));
    execFileSync('mkfifo', [join(workspace, 'fifo')]);
    mkdirSync(join(workspace, 'dir'));
    symlinkSync('/dev/zero', join(workspace, 'zero'));
    const server = createServer().listen(join(workspace, 'sock'));
    await new Promise((resolve) => server.once('listening', resolve));

    const attempts: Record<string, string> = {};
    for (const name of ['link', 'link-to-link', 'up/secret', 'hard', 'fifo', 'sock', 'zero', 'dir']) {
      const path = `/mnt/user-data/workspace/${name}`;
      attempts[name] =
        `${await reasonOf(files.openFile(thread, path))} ${await reasonOf(files.append(thread, path, text('x')))}`;
    }
    server.close();

    expect(attempts).toEqual({
      link: 'not_regular not_regular',
      'link-to-link': 'not_regular not_regular',
      'up/secret': 'not_regular not_regular',
      hard: 'not_regular not_regular',
      fifo: 'not_regular not_regular',
      sock: 'not_regular not_regular',
      zero: 'not_regular not_regular',
      dir: 'is_directory is_directory',
    });
    expect(readFileSync(secret, 'utf8')).toBe('secret');
  });

  test('replaces neither a link, a FIFO nor a directory, and leaves no temporary file behind (F3)', async () => {
    symlinkSync('/etc/hostname', join(workspace, 'link'));
    execFileSync('mkfifo', [join(workspace, 'fifo')]);
    mkdirSync(join(workspace, 'dir'));

    const reasons = await Promise.all(
      ['link', 'fifo', 'dir'].map((name) =>
        reasonOf(files.replace(thread, `/mnt/user-data/workspace/${name}`, text('x'))),
      ),
    );

    expect(reasons).toEqual(['not_regular', 'not_regular', 'is_directory']);
    expect(readdirSync(workspace).sort()).toEqual(['dir', 'fifo', 'link']);
  });

  test('replacing a hard-linked name leaves the other name as it was', async () => {
    writeFileSync(join(home, 'other'), 'kept');
    linkSync(join(home, 'other'), join(workspace, 'hard'));

    await files.replace(thread, '/mnt/user-data/workspace/hard', text('new'));

    expect(readFileSync(join(home, 'other'), 'utf8')).toBe('kept');
    expect(await read('/mnt/user-data/workspace/hard')).toBe('new');
  });

  const device = process.getuid?.() === 0 ? test : test.skip;
  device('refuses a device node', async () => {
    execFileSync('mknod', [join(workspace, 'node'), 'c', '1', '5']);

    expect(await reasonOf(files.openFile(thread, '/mnt/user-data/workspace/node'))).toBe('not_regular');
    expect(await reasonOf(files.append(thread, '/mnt/user-data/workspace/node', text('x')))).toBe('not_regular');
  });

  test('names a missing file, and refuses invalid ids', async () => {
    expect(await reasonOf(files.openFile(thread, '/mnt/user-data/workspace/none'))).toBe('not_found');
    expect(await reasonOf(files.openFile(thread, '/mnt/user-data/workspace'))).toBe('is_directory');
    expect(await reasonOf(files.openFile(thread, '/etc/passwd'))).toBe('outside');
    await expect(files.prepare({ userId: '..', threadId: 't' })).rejects.toThrow(/must be/);
  });

  test('touches nothing outside the data directories, whatever the path', async () => {
    writeFileSync(join(home, 'canary'), 'canary');
    const part = fc.constantFrom(
      '/mnt/user-data/workspace',
      '..',
      'canary',
      '/',
      'a',
      '.',
      '%2e%2e',
      '\\..',
      'users',
      '…',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 10 }), async (parts) => {
        await reasonOf(files.replace(thread, parts.join('/'), text('x')));
        await reasonOf(files.append(thread, parts.join(''), text('x')));
      }),
      { numRuns: 150 },
    );

    expect(readFileSync(join(home, 'canary'), 'utf8')).toBe('canary');
    expect(readdirSync(home).sort()).toEqual(['canary', 'users']);
    expect(readdirSync(join(home, 'users/default/threads/t1'))).toEqual(['user-data']);
  });

  test('never reads outside while names are exchanged under it (F1)', async () => {
    const outside = join(home, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'f'), 'LEAK');
    mkdirSync(join(workspace, 'a'));
    writeFileSync(join(workspace, 'a/f'), 'mine');
    symlinkSync(outside, join(workspace, 'b'));
    const swapper = spawn('python3', ['-c', exchangeLoop, join(workspace, 'a'), join(workspace, 'b')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise((resolve) => swapper.stdout.once('data', resolve));

    const seen = new Set<string>();
    for (let round = 0; round < 3000; round += 1) {
      seen.add(
        await read('/mnt/user-data/workspace/a/f').catch((error: unknown) =>
          error instanceof FileRefusedError ? error.reason : 'other',
        ),
      );
      await reasonOf(files.replace(thread, '/mnt/user-data/workspace/a/g', text('x')));
    }
    swapper.kill('SIGKILL');

    expect([...seen].sort()).toEqual(['mine', 'not_regular']);
    expect(existsSync(join(outside, 'g'))).toBe(false);
    // The exchange loop takes a processor for itself: with other test files 3,000 rounds take up to half a minute.
  }, 120_000);
});

import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FileExpectation } from '@caribou/contracts';
import { commandIdentity } from '@caribou/core';
import { type ThreadFiles, threadFiles } from '@caribou/files';
import type { Execution } from '../executions/execution.js';
import { createEditExecution } from './file-edit.js';
import { PathLocks } from './path-locks.js';
import { readFileLines, createWriteExecution } from './sandbox-commands.js';
import { FakeDriver } from '../testing/fake-driver.js';
import { InMemoryRegistry } from '../testing/in-memory-registry.js';
import { testManager, type TestManager, thread } from '../testing/test-manager.js';

const path = '/mnt/user-data/workspace/a.txt';
const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');
const CHANGED = { outcome: 'refused', reason: 'changed' };

describe('changes of a file that is expected to be a certain one', () => {
  let home: string;
  let files: ThreadFiles;
  let locks: PathLocks;
  let manager: TestManager;
  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), 'caribou-expected-'));
    chmodSync(home, 0o755);
    files = threadFiles(home, commandIdentity());
    locks = new PathLocks();
    await files.prepare(thread);
    const registry = new InMemoryRegistry();
    registry.epochs.set('default/t1', 1);
    manager = testManager('m1', registry, new FakeDriver());
    await manager.pool.acquire(thread, 1);
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  const host = (name = 'a.txt'): string => join(files.hostPath(thread, 'workspace'), name);
  const sandbox = { user_id: 'default', thread_id: 't1', sandbox_id: 'sandbox-t1', epoch: 1 };
  let keys = 0;
  /** A change under a key of its own. */
  const done = <Request extends object, Reply>(
    change: (request: Request & typeof sandbox & { key: string; args_hash: string }) => Execution<Reply>,
    request: Request,
  ): Promise<Reply> => {
    keys += 1;
    return manager.executor.execute(change({ ...sandbox, ...request, key: `r:c${keys}`, args_hash: 'h' }));
  };
  const write = (content: string, expected?: FileExpectation, append = false) =>
    done((request) => createWriteExecution(request, files, locks), { path, content, append, expected });
  const edit = (old_text: string, new_text: string, expected?: FileExpectation) =>
    done((request) => createEditExecution(request, files, locks), {
      path,
      old_text,
      new_text,
      replace_all: false,
      expected,
    });

  test('a read tells the hash of the whole file, whatever part it asks for', async () => {
    writeFileSync(host(), 'one\ntwo\n');

    const part = await readFileLines({ ...sandbox, path, start_line: 2, end_line: 2, max_bytes: 1 }, files);

    expect(part).toMatchObject({ outcome: 'ok', text: 't', truncated: true, sha256: sha256Of('one\ntwo\n') });
  });

  test('content in base64 is written as the bytes it stands for', async () => {
    const bytes = Buffer.from([0x89, 0x50, 0x00, 0xff, 0x0a]);
    const content = bytes.toString('base64');
    const image = { path, content, encoding: 'base64' as const };
    await done((request) => createWriteExecution(request, files, locks), { ...image, append: false });
    await done((request) => createWriteExecution(request, files, locks), { ...image, append: true });

    expect(readFileSync(host())).toEqual(Buffer.concat([bytes, bytes]));
  });

  test('write, append and edit change the expected file only', async () => {
    writeFileSync(host(), 'one');
    for (const expected of [{ sha256: null }, { sha256: sha256Of('zero') }]) {
      expect(await write('x', expected)).toEqual(CHANGED);
      expect(await write('x', expected, true)).toEqual(CHANGED);
      expect(await edit('one', 'x', expected)).toEqual(CHANGED);
    }
    expect(readFileSync(host(), 'utf8')).toBe('one');

    expect(await edit('one', 'two', { sha256: sha256Of('one') })).toMatchObject({ outcome: 'ok' });
    expect(await write(' three', { sha256: sha256Of('two') }, true)).toMatchObject({ outcome: 'ok' });
    expect(await write('four', { sha256: sha256Of('two three') })).toMatchObject({ outcome: 'ok' });
    expect(readFileSync(host(), 'utf8')).toBe('four');
  });

  test('a file that is not there is made, also in directories that are not there', async () => {
    expect(await write('x', { sha256: null })).toMatchObject({ outcome: 'ok' });
    rmSync(host());
    expect(await write('x', { sha256: sha256Of('gone') }, true)).toMatchObject({ outcome: 'ok' });
    const deep = {
      path: '/mnt/user-data/workspace/new/b.txt',
      content: 'x',
      append: false,
      expected: { sha256: null },
    };
    expect(await done((request) => createWriteExecution(request, files, locks), deep)).toMatchObject({ outcome: 'ok' });
  });

  test('without an expectation everything is as ever: a caller of another version sends none', async () => {
    writeFileSync(host(), 'one');
    expect(await write('two')).toMatchObject({ outcome: 'ok' });
    expect(await edit('two', 'three')).toMatchObject({ outcome: 'ok' });
  });

  test('of many changes made at once on one reading, one is done', async () => {
    writeFileSync(host(), 'start ');
    const expected = { sha256: sha256Of('start ') };

    const replies = await Promise.all([
      ...Array.from({ length: 5 }, (_, at) => write(`${at}`, expected, true)),
      ...Array.from({ length: 5 }, (_, at) => edit('start ', `edit ${at}`, expected)),
      ...Array.from({ length: 5 }, (_, at) => write(`whole ${at}`, expected)),
    ]);

    expect(replies.filter(({ outcome }) => outcome === 'ok')).toHaveLength(1);
    expect(replies.filter((reply) => reply.outcome === 'refused' && reply.reason === 'changed')).toHaveLength(14);
  });

  test('what is no file is refused as that, and a file too large to be read as changed', async () => {
    symlinkSync('/etc/passwd', host());
    expect(await write('x', { sha256: null }, true)).toMatchObject({ outcome: 'refused', reason: 'not_regular' });
    rmSync(host());
    execFileSync('mkdir', [host()]);
    expect(await write('x', { sha256: null })).toMatchObject({ outcome: 'refused', reason: 'is_directory' });
    execFileSync('rmdir', [host()]);
    writeFileSync(host(), '');
    truncateSync(host(), 65 * 1024 * 1024);
    expect(await write('x', { sha256: sha256Of('') })).toEqual(CHANGED);
  });
});

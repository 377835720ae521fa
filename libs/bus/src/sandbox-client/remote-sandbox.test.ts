import { ConflictError, FencedError } from '@caribou/contracts';
import {
  done,
  type RemoteSandboxFixture,
  request,
  scope,
  useRemoteSandbox,
} from '../testing/remote-sandbox-fixture.js';

let remote: RemoteSandboxFixture;

useRemoteSandbox((fixture) => {
  remote = fixture;
});

describe('remote sandbox', () => {
  test('acquires once, keeps the binding for the epoch, and translates each reply', async () => {
    const seen: Record<string, unknown>[] = [];
    await remote.startManager('m1', {
      exec: (data) => (seen.push(data), done),
      read: () => ({ outcome: 'ok', text: 'hello', total_bytes: 5, total_lines: 1, truncated: false }),
      write: () => ({ outcome: 'refused', reason: 'no_space' }),
    });
    const { signal } = new AbortController();
    expect(remote.sandbox.binding(scope)).toBeUndefined();
    expect(await remote.sandbox.exec(scope, request, signal)).toMatchObject({
      outcome: 'done',
      exit_code: 0,
      truncated_bytes: 0,
    });
    expect(await remote.sandbox.read(scope, { path: '/x', max_bytes: 10 }, signal)).toMatchObject({
      text: 'hello',
      total_lines: 1,
    });
    const write = { key: 'run:call2', path: '/x', content: '', append: false };
    expect(await remote.sandbox.write(scope, write, signal)).toEqual({ outcome: 'refused', reason: 'no_space' });
    expect(remote.sandbox.binding(scope)).toEqual({ sandbox_id: 'box-m1', driver: 'bwrap' });
    expect(remote.sandbox.binding({ ...scope, epoch: 8 })).toBeUndefined();
    expect(seen[0]).toMatchObject({
      user_id: 'default',
      thread_id: 't1',
      epoch: 7,
      sandbox_id: 'box-m1',
      key: 'run:call',
    });
  });

  test.each([
    { manager: 'an earlier version', says: {}, content: 'x'.repeat(20_000), attached: undefined },
    { manager: 'this version', says: { attachments: true }, content: undefined, attached: [['content', 20_000]] },
  ])('a long content is attached only for a manager that takes that: $manager', async ({ says, content, attached }) => {
    const seen: Record<string, unknown>[] = [];
    await remote.startManager('m1', {
      acquire: () => ({ sandbox_id: 'box-m1', manager_id: 'm1', driver: 'bwrap', ...says }),
      write: (data) => (seen.push(data), { outcome: 'ok', bytes: 20_000 }),
    });
    const write = { key: 'run:call2', path: '/x', content: 'x'.repeat(20_000), append: false };
    await remote.sandbox.write(scope, write, new AbortController().signal);
    expect([seen[0]?.['content'], seen[0]?.['attached']]).toEqual([content, attached]);
    expect(seen[0]).toMatchObject({ key: 'run:call2', path: '/x' });
  });

  test('a refusal because of the epoch ends the call', async () => {
    await remote.startManager('m1', {
      exec: () => {
        throw new FencedError('not yours', { details: { reason: 'another_epoch' } });
      },
    });
    await expect(remote.sandbox.exec(scope, request, new AbortController().signal)).rejects.toThrow(FencedError);
  });

  test('the hash is that of what the model decided: same command same hash, another command another', async () => {
    const hashes: unknown[] = [];
    await remote.startManager('m1', { exec: (data) => (hashes.push(data['args_hash']), done) });
    const { signal } = new AbortController();
    await remote.sandbox.exec(scope, request, signal);
    await remote.sandbox.exec(scope, { ...request, max_output_bytes: 4_096 }, signal);
    await remote.sandbox.exec(scope, { ...request, command: 'false' }, signal);
    expect(hashes[0]).toBe(hashes[1]);
    expect(hashes[2]).not.toBe(hashes[0]);
  });

  test('the hash of a call is the same in every version: another process may repeat the call after an upgrade', async () => {
    const hashes: unknown[] = [];
    const recordHash = (data: Record<string, unknown>): unknown => {
      hashes.push(data['args_hash']);
      return { outcome: 'unknown', reason: 'test' };
    };
    await remote.startManager('m1', { exec: recordHash, write: recordHash, edit: recordHash });
    const { signal } = new AbortController();
    await remote.sandbox.exec(scope, request, signal);
    await remote.sandbox.write(scope, { key: 'run:2', path: '/x', content: 'a', append: false }, signal);
    const edit = { key: 'run:3', path: '/x', old_text: 'a', new_text: 'b', replace_all: false };
    await remote.sandbox.edit(scope, edit, signal);

    expect(hashes).toEqual([
      '57992d0e96653c71212b116b674eadf4acf77986c2a9d3be3724bdff2571b81b',
      '9e70da289683ff19855607646f4464bb4ff609619808d5571d1882173d40c7cb',
      'f502e15da5adcc85002865249040a65f692658c5b7e034a8704856f040d518c0',
    ]);
  });

  test('a request for each operation carries scope, sandbox and the fields of its contract, and nothing else', async () => {
    const seen: Record<string, object> = {};
    const see = (name: string) => (data: object) => {
      seen[name] = data;
      throw new ConflictError('seen');
    };
    const names = ['exec', 'read', 'read_bytes', 'write', 'edit', 'list', 'glob', 'grep', 'stat'];
    await remote.startManager('m1', Object.fromEntries(names.map((name) => [name, see(name)])));
    const { signal } = new AbortController();
    const path = '/x';
    const calls = [
      remote.sandbox.exec(scope, { ...request, onOutput: () => undefined }, signal),
      remote.sandbox.read(scope, { path, start_line: 2, max_bytes: 9, key: undefined }, signal),
      remote.sandbox.readBytes(scope, { path, offset: 0, max_bytes: 9 }, signal),
      remote.sandbox.write(scope, { key: 'run:2', path, content: 'a', append: false }, signal),
      remote.sandbox.edit(scope, { key: 'run:3', path, old_text: 'a', new_text: 'b', replace_all: false }, signal),
      remote.sandbox.list(scope, { path, depth: 1, max_results: 5 }, signal),
      remote.sandbox.glob(scope, { path, pattern: '*', include_dirs: false, max_results: 5 }, signal),
      remote.sandbox.grep(scope, { path, pattern: 'x', literal: true, case_sensitive: true, max_results: 5 }, signal),
      remote.sandbox.stat(scope, { key: 'run:4', paths: [path] }, signal),
    ];
    for (const call of calls) await expect(call).rejects.toThrow(ConflictError);

    const shared = ['epoch', 'sandbox_id', 'thread_id', 'user_id'];
    const fields = (...own: string[]): string[] => [...shared, ...own].sort();
    expect(Object.fromEntries(Object.entries(seen).map(([name, data]) => [name, Object.keys(data).sort()]))).toEqual({
      exec: fields('key', 'args_hash', 'command', 'timeout_ms', 'max_output_bytes'),
      read: fields('path', 'start_line', 'max_bytes'),
      read_bytes: fields('path', 'offset', 'max_bytes'),
      write: fields('key', 'args_hash', 'path', 'content', 'append'),
      edit: fields('key', 'args_hash', 'path', 'old_text', 'new_text', 'replace_all'),
      list: fields('path', 'depth', 'max_results'),
      glob: fields('path', 'pattern', 'include_dirs', 'max_results'),
      grep: fields('path', 'pattern', 'literal', 'case_sensitive', 'max_results'),
      stat: fields('key', 'paths'),
    });
  });

  test("a manager's refusal arrives as the error of its code", async () => {
    await remote.startManager('m1', {
      exec: () => {
        throw new ConflictError('the key was used with other arguments');
      },
    });
    await expect(remote.sandbox.exec(scope, request, new AbortController().signal)).rejects.toThrow(ConflictError);
  });
});

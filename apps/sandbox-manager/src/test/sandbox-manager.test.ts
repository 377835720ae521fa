import type { OutputPiece } from '@caribou/contracts';
import { createErasedFiles } from '@caribou/files';
import { limits, type ManagerFixture, notAborted, scope, useManagers } from '../testing/manager-fixture.js';

const base64 = (bytes: readonly number[]): string => Buffer.from(bytes).toString('base64');

let managers: ManagerFixture;

useManagers((fixture) => {
  managers = fixture;
});

describe('sandbox-manager over NATS, Redis and bubblewrap', () => {
  test('writes a file, runs it and reads what it made', async () => {
    const path = '/mnt/user-data/workspace/hello.sh';
    await managers.remote.write(
      scope,
      { key: managers.newKey(), path, content: 'echo "made in $PWD" > made\n', append: false },
      notAborted,
    );
    const key = managers.newKey();
    await managers.remote.write(scope, { key, path, content: 'cat made; id -u\n', append: true }, notAborted);
    await managers.remote.write(scope, { key, path, content: 'cat made; id -u\n', append: true }, notAborted);

    const result = await managers.remote.exec(
      scope,
      { key: managers.newKey(), command: 'sh hello.sh', ...limits },
      notAborted,
    );
    const made = await managers.remote.read(
      scope,
      { path: '/mnt/user-data/workspace/made', max_bytes: 100 },
      notAborted,
    );

    expect(result).toMatchObject({ outcome: 'done', exit_code: 0 });
    expect(result.outcome === 'done' && result.stdout).toMatch(/^made in \/mnt\/user-data\/workspace\n\d+\n$/);
    expect(made).toMatchObject({ outcome: 'ok', text: 'made in /mnt/user-data/workspace\n' });
  });

  test('a new thread of a deleted one has a sandbox of its own with nothing in it, under the same manager', async () => {
    const again = { userId: 'default', threadId: 'again' };
    const { lease, owner, sandbox } = managers.redis.keys.thread(again);
    const own = (epoch: number) => managers.redis.use((client) => client.set(lease, `owner:${epoch}`, 'PX', 600_000));
    const ran = async (epoch: number, command: string) =>
      await managers.remote.exec({ ...again, epoch }, { key: managers.newKey(), command, ...limits }, notAborted);
    await own(1);
    expect(await ran(1, 'echo secret > ../outputs/old; echo x > old')).toMatchObject({ outcome: 'done', exit_code: 0 });

    await managers.redis.use((client) => client.del(lease, owner, sandbox));
    const files = createErasedFiles(managers.home);
    const aside = await files.moveThread(again, '1');
    await own(2);
    const listing = await ran(2, 'ls /mnt/user-data/outputs .; echo new > mine');

    expect(listing).toMatchObject({ outcome: 'done', exit_code: 0 });
    expect(listing.outcome === 'done' && listing.stdout).not.toContain('old');
    expect(await files.empty(aside, notAborted)).toBe(true);
    expect(await ran(2, 'cat mine')).toMatchObject({ outcome: 'done', stdout: 'new\n' });
  });

  test('a file is changed as it was read, once per key, and an unread one is not', async () => {
    const at = { path: '/mnt/user-data/workspace/known.txt', append: false };
    const key = managers.newKey();
    expect(
      await managers.remote.write(scope, { ...at, key: managers.newKey(), content: 'one' }, notAborted),
    ).toMatchObject({ outcome: 'ok' });
    const seen = await managers.remote.read(scope, { path: at.path, max_bytes: 100 }, notAborted);
    const expected = { sha256: seen.outcome === 'ok' ? (seen.sha256 ?? null) : null };

    const unread = { ...at, key: managers.newKey(), content: 'x', expected: { sha256: null } };
    expect(await managers.remote.write(scope, unread, notAborted)).toEqual({ outcome: 'refused', reason: 'changed' });
    const edit = { key, path: at.path, old_text: 'one', new_text: 'two', replace_all: false, expected };
    const edited = await managers.remote.edit(scope, edit, notAborted);
    expect(edited).toMatchObject({ outcome: 'ok' });
    expect(await managers.remote.edit(scope, edit, notAborted)).toEqual(edited);
    expect(await managers.remote.edit(scope, { ...edit, key: managers.newKey() }, notAborted)).toMatchObject({
      reason: 'changed',
    });
  });

  test('a repeated key answers the first result, and other arguments are refused', async () => {
    const key = managers.newKey();
    const count = 'echo x >> count; wc -l < count';
    const first = await managers.remote.exec(scope, { key, command: count, ...limits }, notAborted);

    expect(await managers.remote.exec(scope, { key, command: count, ...limits }, notAborted)).toEqual(first);
    await expect(managers.remote.exec(scope, { key, command: 'true', ...limits }, notAborted)).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  test('publishes what a command writes while it runs, once it has written for a second', async () => {
    await Promise.all(managers.running.map(({ parts }) => parts.outputs.waitUntilConnected()));
    let published = '';
    const command =
      'printf "\\342\\202"; echo e >&2; sleep 1.2; printf "\\254 "; until [ -e go ]; do sleep 0.05; done; rm go';
    const onOutput = (piece: OutputPiece): void => {
      published += piece.stdout + piece.stderr;
      if (published.includes('€')) void managers.remote.write(scope, { key: managers.newKey(), ...go }, notAborted);
    };
    const go = { path: '/mnt/user-data/workspace/go', content: '', append: false };
    const slow = await managers.remote.exec(
      scope,
      { key: managers.newKey(), command, ...limits, onOutput },
      notAborted,
    );

    expect(slow).toMatchObject({ outcome: 'done', exit_code: 0, stdout: '€ ', stderr: 'e\n' });
    expect(published).toContain('e\n');
  });

  test('reads any part of any regular file as bytes, and no link or directory', async () => {
    const command =
      'printf "\\000\\377\\200x" > b; ln -s b link; ln b hard; mkdir -p d; mkfifo f; truncate -s 64M huge; printf GIF8 > one.gif';
    await managers.remote.exec(scope, { key: managers.newKey(), command, ...limits }, notAborted);
    const read = (name: string, offset = 0, max_bytes = 100) =>
      managers.remote.readBytes(scope, { path: `/mnt/user-data/workspace/${name}`, offset, max_bytes }, notAborted);
    await managers.remote.exec(scope, { key: managers.newKey(), command: 'rm hard', ...limits }, notAborted);

    expect(await read('b')).toEqual({ outcome: 'ok', base64: base64([0, 255, 128, 120]), bytes: 4, total_bytes: 4 });
    expect(await read('b', 1, 2)).toMatchObject({ base64: base64([255, 128]), total_bytes: 4 });
    expect(await read('b', 9)).toMatchObject({ base64: '', total_bytes: 4 });
    expect(await read('huge', 2 ** 25, 3)).toMatchObject({ base64: base64([0, 0, 0]), total_bytes: 2 ** 26 });
    await managers.remote.exec(
      scope,
      { key: managers.newKey(), command: 'ln one.gif twice; rm huge', ...limits },
      notAborted,
    );
    const refusals = await Promise.all(
      ['link', 'd', 'f', 'one.gif', 'none', '../../etc/passwd'].map((name) => read(name)),
    );
    expect(refusals.map((refusal) => ('reason' in refusal ? refusal.reason : refusal.outcome))).toEqual([
      ...['not_regular', 'is_directory', 'not_regular', 'not_regular', 'not_found', 'outside'],
    ]);
  });

  test('says why a file is refused', async () => {
    const read = (path: string) => managers.remote.read(scope, { path, max_bytes: 100 }, notAborted);

    expect(await read('/etc/passwd')).toEqual({ outcome: 'refused', reason: 'outside' });
    expect(await read('/mnt/user-data/workspace/none')).toEqual({ outcome: 'refused', reason: 'not_found' });
  });

  test('over the quota writes and edits are refused with the limit, and commands report it until there is room', async () => {
    const path = '/mnt/user-data/workspace/note';
    const write = () =>
      managers.remote.write(scope, { key: managers.newKey(), path, content: 'text', append: false }, notAborted);
    const exec = (command: string) =>
      managers.remote.exec(scope, { key: managers.newKey(), command, ...limits }, notAborted);
    await write();
    await exec('head -c 9000000 /dev/zero > big');

    const refused = {
      outcome: 'refused',
      reason: 'no_space',
      message: expect.stringMatching(/^\S+\/note: this thread's files take 8\.\d MiB, and may take 8 MiB$/),
    };
    expect(await write()).toEqual(refused);
    const edit = { key: managers.newKey(), path, old_text: 'text', new_text: 'other', replace_all: false };
    expect(await managers.remote.edit(scope, edit, notAborted)).toEqual(refused);
    expect(await exec('cat note')).toMatchObject({
      stdout: 'text',
      stderr: expect.stringMatching(/\[nothing can be written: this thread's files take/),
    });
    expect(await exec('rm big')).toMatchObject({ stderr: '', exit_code: 0 });
    expect(await write()).toEqual({ outcome: 'ok', bytes: 4 });
  });

  test('an epoch that is not the current one does nothing', async () => {
    const stale = { ...scope, epoch: 999 };

    await expect(
      managers.remote.exec(stale, { key: managers.newKey(), command: 'touch stale', ...limits }, notAborted),
    ).rejects.toMatchObject({
      code: 'fenced',
    });
  });
});

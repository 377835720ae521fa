import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { managerSubject, newId, SandboxPublish } from '@caribou/contracts';
import { silentLogger, type TreeNode } from '@caribou/core';
import { objectTreeStore } from '@caribou/files';
import { openObjectStore } from '@caribou/objects';
import { waitFor } from '@caribou/testing';
import { notAborted } from '../testing/manager-fixture.js';
import { type StoredFilesFixture, useStoredFiles } from '../testing/stored-files-fixture.js';

let fixture: StoredFilesFixture;
useStoredFiles((opened) => (fixture = opened));

/** What a gateway does with the first upload of a thread. */
async function uploadFile(name: string, text: string): Promise<void> {
  const trees = objectTreeStore(openObjectStore(fixture.files.store, silentLogger));
  const head = await fixture.generations.head(fixture.scope);
  const content = Buffer.from(text);
  const [stored] = await trees.store(fixture.scope.userId, [{ size: content.length, open: () => iterable(content) }]);
  if (stored === null || stored === undefined) throw new Error('not stored');
  const node = { kind: 'file', mode: 0o644, size: content.length, modifiedMs: 1_000, ...stored } as const;
  const tree = new Map<string, TreeNode>([
    ['uploads', { kind: 'directory', mode: 0o755 }],
    [`uploads/${name}`, node],
  ]);
  const uploads = await trees.write(fixture.scope.userId, tree);
  if (uploads === undefined) throw new Error('no tree');
  const size = { bytes: (head?.bytes ?? 0) + content.length, files: (head?.files ?? 0) + 1 };
  const { committed } = await fixture.generations.commit(fixture.scope, {
    expected: head,
    trees: { ...head?.trees, uploads },
    ...size,
  });
  expect(committed).toBe(true);
}

describe('files in an object store', () => {
  test('what a command made on one machine is there for the next one on another', async () => {
    const first = await fixture.start(fixture.newMachine());
    await fixture.run(
      'mkdir -p src/empty && echo one > src/a && ln -s a src/b && chmod 700 src/a && echo out > ../outputs/o',
    );
    expect(await fixture.generations.head(fixture.scope)).toMatchObject({ generation: 2, files: 3 });
    await fixture.run('true');
    expect(await fixture.generations.head(fixture.scope)).toMatchObject({ generation: 2 });
    await fixture.lose(first);

    await fixture.start(fixture.newMachine());
    const { stdout, stderr } = await fixture.run(
      'cat src/b ../outputs/o; stat -c %a src/a; ls -d src/empty; rm src/a; echo two > c',
    );
    expect({ stdout, stderr }).toEqual({ stdout: 'one\nout\n700\nsrc/empty\n', stderr: '' });
    expect(await fixture.generations.head(fixture.scope)).toMatchObject({ generation: 4, files: 3 });
  });

  test('a written file is stored before the answer, and one that a person commits is there for the next call', async () => {
    await fixture.start(fixture.newMachine());
    const at = { path: '/mnt/user-data/workspace/w', append: false, content: 'written' };
    await fixture.managers.remote.write(fixture.scope, { key: fixture.managers.newKey(), ...at }, notAborted);
    expect(await fixture.generations.head(fixture.scope)).toMatchObject({ generation: 2, files: 1 });
    await uploadFile('u', 'uploaded');

    const read = await fixture.managers.remote.read(
      fixture.scope,
      { path: '/mnt/user-data/uploads/u', max_bytes: 100 },
      notAborted,
    );
    expect(read).toMatchObject({ outcome: 'ok', text: 'uploaded' });
    expect((await fixture.run('cat ../uploads/u w')).stdout).toBe('uploadedwritten');
  });

  test('what a person uploads while a command runs is there for the next one', async () => {
    const machine = fixture.newMachine();
    await fixture.start(machine);
    await fixture.run('echo first > a');
    const running = fixture.run('touch begun; until [ -e gate ]; do sleep 0.05; done; rm begun gate; echo made > made');
    await waitFor(() => existsSync(join(fixture.workspaceOf(machine), 'begun')), { what: 'the command' });
    await uploadFile('u', 'meanwhile');
    writeFileSync(join(fixture.workspaceOf(machine), 'gate'), '');
    await running;
    expect((await fixture.run('cat ../uploads/u a')).stdout).toBe('meanwhilefirst\n');
  });

  test('a large change does not delay the answer, and is stored when a reader asks for it', async () => {
    const manager = await fixture.start(fixture.newMachine());
    await fixture.run('head -c 3000000 /dev/urandom > large');
    const subject = managerSubject(manager.parts.managerId, SandboxPublish);
    const thread = { user_id: fixture.scope.userId, thread_id: fixture.scope.threadId };
    const { outcome } = await fixture.managers.bus.call({ contract: SandboxPublish, subject }, thread);
    expect(['published', 'nothing']).toContain(outcome);
    const head = await fixture.generations.head(fixture.scope);
    expect(head).toMatchObject({ bytes: 3_000_000 });
    expect(head?.unpublished).toBeUndefined();
    const other = { user_id: fixture.scope.userId, thread_id: newId() };
    expect(await fixture.managers.bus.call({ contract: SandboxPublish, subject }, other)).toEqual({
      outcome: 'not_held',
    });
  });

  test('files from before there was an object store are taken over', async () => {
    const machine = fixture.newMachine();
    const workspace = fixture.workspaceOf(machine);
    mkdirSync(workspace, { recursive: true });
    writeFileSync(join(workspace, 'old'), 'old\n');
    const first = await fixture.start(machine);
    expect((await fixture.run('cat old')).stdout).toBe('old\n');
    await fixture.lose(first);
    await fixture.start(fixture.newMachine());
    expect((await fixture.run('cat old')).stdout).toBe('old\n');
  });
});

async function* iterable(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(content);
}

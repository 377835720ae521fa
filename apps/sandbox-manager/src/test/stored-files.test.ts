import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FilesConfig } from '@caribou/config';
import { managerSubject, newId, SandboxPublish, SandboxPublishLeft } from '@caribou/contracts';
import { type FileGenerations, type SandboxScope, silentLogger, type TreeNode } from '@caribou/core';
import { objectTreeStore } from '@caribou/files';
import { openObjectStore } from '@caribou/objects';
import { redisFileGenerations } from '@caribou/state';
import { temporaryFolder, waitFor } from '@caribou/testing';
import {
  limits,
  ManagerFixture,
  notAborted,
  type RunningManager,
  type TestMachine,
} from '../testing/manager-fixture.js';

const folder = temporaryFolder();
const objects = join(folder, 'objects');
/** Where the objects are while the store is away. */
const hidden = join(folder, 'hidden');

const files: FilesConfig = {
  store: { kind: 'folder', folder: { path: objects, isDurable: false, timeoutMs: 5_000 } },
  maxDirectBytes: 100_000,
  maxWaitMs: 1_000,
  machineWaitMs: 5_000,
  maxCopies: 100,
};

let fixture: ManagerFixture;
let generations: FileGenerations;
let scope: SandboxScope;

const newMachine = (): TestMachine => {
  const home = mkdtempSync(join(folder, 'home-'));
  chmodSync(home, 0o755);
  return { home, files };
};

const start = (machine: TestMachine): Promise<RunningManager> => fixture.startManager(undefined, {}, machine);

function hideStore(): void {
  mkdirSync(objects, { recursive: true });
  renameSync(objects, hidden);
  writeFileSync(objects, '');
}

function showStore(): void {
  rmSync(objects, { force: true });
  renameSync(hidden, objects);
}

/** What others see of a machine that is gone. */
async function lose(manager: RunningManager): Promise<void> {
  fixture.running.splice(fixture.running.indexOf(manager), 1);
  await fixture.crash(manager);
  manager.parts.sync.forget(scope);
  await manager.parts.redis.close();
  await manager.parts.outputs.close();
}

const run = async (command: string) => {
  const result = await fixture.remote.exec(scope, { key: fixture.newKey(), command, ...limits }, notAborted);
  if (result.outcome !== 'done') throw new Error(result.reason);
  return result;
};

/** What a gateway does with the first upload of a thread. */
async function uploadFile(name: string, text: string): Promise<void> {
  const trees = objectTreeStore(openObjectStore(files.store, silentLogger));
  const head = await generations.head(scope);
  const content = Buffer.from(text);
  const [stored] = await trees.store(scope.userId, [{ size: content.length, open: () => iterable(content) }]);
  if (stored === null || stored === undefined) throw new Error('not stored');
  const node = { kind: 'file', mode: 0o644, size: content.length, modifiedMs: 1_000, ...stored } as const;
  const tree = new Map<string, TreeNode>([
    ['uploads', { kind: 'directory', mode: 0o755 }],
    [`uploads/${name}`, node],
  ]);
  const uploads = await trees.write(scope.userId, tree);
  if (uploads === undefined) throw new Error('no tree');
  const size = { bytes: (head?.bytes ?? 0) + content.length, files: (head?.files ?? 0) + 1 };
  const { committed } = await generations.commit(scope, {
    expected: head,
    trees: { ...head?.trees, uploads },
    ...size,
  });
  expect(committed).toBe(true);
}

const workspaceOf = ({ home }: TestMachine): string =>
  join(home, 'users', scope.userId, 'threads', scope.threadId, 'user-data', 'workspace');

beforeAll(async () => {
  fixture = await ManagerFixture.open(() => Promise.resolve());
  generations = redisFileGenerations(fixture.redis);
}, 60_000);
beforeEach(async () => {
  scope = { userId: 'default', threadId: newId(), epoch: 1 };
  await fixture.setLease(scope);
});
afterEach(async () => {
  for (const manager of [...fixture.running]) await fixture.stop(manager);
});
afterAll(() => fixture.close());

describe('files in an object store', () => {
  test('what a command made on one machine is there for the next one on another', async () => {
    const first = await start(newMachine());
    await run('mkdir -p src/empty && echo one > src/a && ln -s a src/b && chmod 700 src/a && echo out > ../outputs/o');
    expect(await generations.head(scope)).toMatchObject({ generation: 2, files: 3 });
    await run('true');
    expect(await generations.head(scope)).toMatchObject({ generation: 2 });
    await lose(first);

    await start(newMachine());
    const { stdout, stderr } = await run(
      'cat src/b ../outputs/o; stat -c %a src/a; ls -d src/empty; rm src/a; echo two > c',
    );
    expect({ stdout, stderr }).toEqual({ stdout: 'one\nout\n700\nsrc/empty\n', stderr: '' });
    expect(await generations.head(scope)).toMatchObject({ generation: 4, files: 3 });
  });

  test('a written file is stored before the answer, and one that a person commits is there for the next call', async () => {
    await start(newMachine());
    const at = { path: '/mnt/user-data/workspace/w', append: false, content: 'written' };
    await fixture.remote.write(scope, { key: fixture.newKey(), ...at }, notAborted);
    expect(await generations.head(scope)).toMatchObject({ generation: 2, files: 1 });
    await uploadFile('u', 'uploaded');

    const read = await fixture.remote.read(scope, { path: '/mnt/user-data/uploads/u', max_bytes: 100 }, notAborted);
    expect(read).toMatchObject({ outcome: 'ok', text: 'uploaded' });
    expect((await run('cat ../uploads/u w')).stdout).toBe('uploadedwritten');
  });

  test('what a person uploads while a command runs is there for the next one', async () => {
    const machine = newMachine();
    await start(machine);
    await run('echo first > a');
    const running = run('touch begun; until [ -e gate ]; do sleep 0.05; done; rm begun gate; echo made > made');
    await waitFor(() => existsSync(join(workspaceOf(machine), 'begun')), { what: 'the command' });
    await uploadFile('u', 'meanwhile');
    writeFileSync(join(workspaceOf(machine), 'gate'), '');
    await running;
    expect((await run('cat ../uploads/u a')).stdout).toBe('meanwhilefirst\n');
  });

  test('a large change does not delay the answer, and is stored when a reader asks for it', async () => {
    const manager = await start(newMachine());
    await run('head -c 3000000 /dev/urandom > large');
    const subject = managerSubject(manager.parts.managerId, SandboxPublish);
    const thread = { user_id: scope.userId, thread_id: scope.threadId };
    const { outcome } = await fixture.bus.call({ contract: SandboxPublish, subject }, thread);
    expect(['published', 'nothing']).toContain(outcome);
    const head = await generations.head(scope);
    expect(head).toMatchObject({ bytes: 3_000_000 });
    expect(head?.unpublished).toBeUndefined();
    const other = { user_id: scope.userId, thread_id: newId() };
    expect(await fixture.bus.call({ contract: SandboxPublish, subject }, other)).toEqual({ outcome: 'not_held' });
  });

  describe('while the store is away', () => {
    beforeEach(async () => {
      await start(newMachine());
      await run('echo kept > a');
      hideStore();
    });

    test('commands run, and what they changed is stored when it is back', async () => {
      expect(await run('echo more > b; cat a')).toMatchObject({ exit_code: 0, stdout: 'kept\n' });
      expect((await generations.head(scope))?.unpublished).toBeDefined();
      showStore();
      await waitFor(async () => (await generations.head(scope))?.unpublished === undefined, { what: 'the changes' });
      expect(await generations.head(scope)).toMatchObject({ files: 2 });
    });

    test('a machine that is lost is named in the next result', async () => {
      await run('echo more > b');
      const [manager] = fixture.running;
      if (manager !== undefined) await lose(manager);
      showStore();
      await start(newMachine());
      const { stdout, stderr } = await run('cat a; ls');
      expect(stdout).toBe('kept\na\n');
      expect(stderr).toMatch(/^\[files that were changed since 20.*Z are missing/);
      expect((await run('true')).stderr).toBe('');
      expect((await generations.head(scope))?.unpublished).toBeUndefined();
    });
  });

  test('a process that dies on its machine loses nothing: the next one there stores what it has left', async () => {
    const machine = newMachine();
    const first = await start(machine);
    await run('echo kept > a');
    hideStore();
    await run('echo more > b');
    await lose(first);
    showStore();
    await start(machine);
    expect(await run('cat a b')).toMatchObject({ stdout: 'kept\nmore\n', stderr: '' });
    expect((await generations.head(scope))?.unpublished).toBeUndefined();
    expect(await generations.head(scope)).toMatchObject({ files: 2 });
  });

  test('what a process has left is stored by another one of its machine when a reader asks, and by none elsewhere', async () => {
    const machine = newMachine();
    const first = await start(machine);
    hideStore();
    await run('echo left > a');
    await lose(first);
    showStore();
    const head = await generations.head(scope);
    expect(head).toMatchObject({ files: 0, unpublished: { managerId: first.parts.managerId } });

    const [there, elsewhere] = [await start(machine), await start(newMachine())];
    const thread = { user_id: scope.userId, thread_id: scope.threadId };
    const ask = ({ parts }: RunningManager, more = {}) =>
      fixture.bus.call(
        { contract: SandboxPublishLeft, subject: managerSubject(parts.plane.machine ?? '', SandboxPublishLeft) },
        { ...thread, ...more },
      );
    expect(await ask(elsewhere)).toEqual({ outcome: 'not_left' });
    expect(await ask(there, { thread_id: newId() })).toEqual({ outcome: 'nothing' });
    // It stores them without being asked, too.
    expect(['published', 'nothing']).toContain((await ask(there)).outcome);
    const stored = await generations.head(scope);
    expect([stored?.files, stored?.unpublished]).toEqual([1, undefined]);
    expect(await ask(there)).toEqual({ outcome: 'nothing' });
    expect((await run('cat a')).stdout).toBe('left\n');
  });

  test('a machine that another one has taken over from never writes over newer files', async () => {
    const [one, two] = [newMachine(), newMachine()];
    const first = await start(one);
    await run('echo first > a');
    await lose(first);
    // What a command has written that was killed with its manager.
    for (const name of ['a', 'b']) writeFileSync(join(workspaceOf(one), name), 'lost\n');
    const second = await start(two);
    expect((await run('cat a; ls')).stdout).toBe('first\na\n');
    await run('echo newer > c');
    await lose(second);
    await start(one);
    expect(await run('cat a c; ls')).toMatchObject({ stdout: 'first\nnewer\na\nc\n', stderr: '' });
  });

  describe('with changes of a thread that are not stored', () => {
    const machine = { one: newMachine(), two: newMachine() };
    let first: RunningManager;
    beforeEach(async () => {
      Object.assign(machine, { one: newMachine(), two: newMachine() });
      first = await start(machine.one);
      hideStore();
      await run('echo more > b');
    });

    test('the next command waits for the machine that has them', async () => {
      const second = await start(machine.two);
      await lose(first);
      showStore();
      const next = run('cat b');
      const third = await start(machine.one);
      expect(await next).toMatchObject({ stdout: 'more\n', stderr: '' });
      await lose(third);
      expect((await run('cat b')).stdout).toBe('more\n');
      expect(fixture.running).toEqual([second]);
    });

    test('a new process of the machine stores them without being asked', async () => {
      await lose(first);
      showStore();
      await start(machine.one);
      await waitFor(async () => (await generations.head(scope))?.files === 1, { what: 'the file', timeoutMs: 20_000 });
      expect((await generations.head(scope))?.unpublished).toBeUndefined();
      expect((await run('cat b')).stdout).toBe('more\n');
    });

    test('a machine that comes back after they were given up has lost them', async () => {
      await lose(first);
      showStore();
      const second = await start(machine.two);
      const { stdout, stderr } = await run('ls; echo other > c');
      expect(stdout).toBe('');
      expect(stderr).toMatch(/^\[files that were changed since 20.*Z are missing/);
      await lose(second);
      await start(machine.one);
      expect(await run('ls')).toMatchObject({ stdout: 'c\n', stderr: '' });
    });
  });

  test('files from before there was an object store are taken over', async () => {
    const machine = newMachine();
    const workspace = workspaceOf(machine);
    mkdirSync(workspace, { recursive: true });
    writeFileSync(join(workspace, 'old'), 'old\n');
    const first = await start(machine);
    expect((await run('cat old')).stdout).toBe('old\n');
    await lose(first);
    await start(newMachine());
    expect((await run('cat old')).stdout).toBe('old\n');
  });
});

async function* iterable(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(content);
}

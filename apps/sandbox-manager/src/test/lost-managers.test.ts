import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { managerSubject, newId, SandboxPublishLeft } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import type { RunningManager, TestMachine } from '../testing/manager-fixture.js';
import { type StoredFilesFixture, useStoredFiles } from '../testing/stored-files-fixture.js';

let fixture: StoredFilesFixture;
useStoredFiles((opened) => (fixture = opened));

/** What a result says when changes of files are lost. */
const MISSING = /^\[files that were changed since 20.*Z are missing/;

describe('a thread whose manager or machine is gone', () => {
  describe('while the store is away', () => {
    beforeEach(async () => {
      await fixture.start(fixture.newMachine());
      await fixture.run('echo kept > a');
      fixture.hideStore();
    });

    test('commands run, and what they changed is stored when it is back', async () => {
      expect(await fixture.run('echo more > b; cat a')).toMatchObject({ exit_code: 0, stdout: 'kept\n' });
      expect((await fixture.generations.head(fixture.scope))?.unpublished).toBeDefined();
      fixture.showStore();
      await waitFor(async () => (await fixture.generations.head(fixture.scope))?.unpublished === undefined, {
        what: 'the changes',
      });
      expect(await fixture.generations.head(fixture.scope)).toMatchObject({ files: 2 });
    });

    test('a machine that is lost is named in the next result', async () => {
      await fixture.run('echo more > b');
      const [manager] = fixture.managers.running;
      if (manager !== undefined) await fixture.lose(manager);
      fixture.showStore();
      await fixture.start(fixture.newMachine());
      const { stdout, stderr } = await fixture.run('cat a; ls');
      expect(stdout).toBe('kept\na\n');
      expect(stderr).toMatch(MISSING);
      expect((await fixture.run('true')).stderr).toBe('');
      expect((await fixture.generations.head(fixture.scope))?.unpublished).toBeUndefined();
    });
  });

  test('a process that dies on its machine loses nothing: the next one there stores what it has left', async () => {
    const machine = fixture.newMachine();
    const first = await fixture.start(machine);
    await fixture.run('echo kept > a');
    fixture.hideStore();
    await fixture.run('echo more > b');
    await fixture.lose(first);
    fixture.showStore();
    await fixture.start(machine);
    expect(await fixture.run('cat a b')).toMatchObject({ stdout: 'kept\nmore\n', stderr: '' });
    expect((await fixture.generations.head(fixture.scope))?.unpublished).toBeUndefined();
    expect(await fixture.generations.head(fixture.scope)).toMatchObject({ files: 2 });
  });

  test('what a process has left is stored by another one of its machine when a reader asks, and by none elsewhere', async () => {
    const machine = fixture.newMachine();
    const first = await fixture.start(machine);
    fixture.hideStore();
    await fixture.run('echo left > a');
    await fixture.lose(first);
    fixture.showStore();
    const head = await fixture.generations.head(fixture.scope);
    expect(head).toMatchObject({ files: 0, unpublished: { managerId: first.parts.managerId } });

    const [there, elsewhere] = [await fixture.start(machine), await fixture.start(fixture.newMachine())];
    const thread = { user_id: fixture.scope.userId, thread_id: fixture.scope.threadId };
    const ask = ({ parts }: RunningManager, more = {}) =>
      fixture.managers.bus.call(
        { contract: SandboxPublishLeft, subject: managerSubject(parts.plane.machine ?? '', SandboxPublishLeft) },
        { ...thread, ...more },
      );
    expect(await ask(elsewhere)).toEqual({ outcome: 'not_left' });
    expect(await ask(there, { thread_id: newId() })).toEqual({ outcome: 'nothing' });
    // It stores them without being asked, too.
    expect(['published', 'nothing']).toContain((await ask(there)).outcome);
    const stored = await fixture.generations.head(fixture.scope);
    expect([stored?.files, stored?.unpublished]).toEqual([1, undefined]);
    expect(await ask(there)).toEqual({ outcome: 'nothing' });
    expect((await fixture.run('cat a')).stdout).toBe('left\n');
  });

  test('a machine that another one has taken over from never writes over newer files', async () => {
    const [one, two] = [fixture.newMachine(), fixture.newMachine()];
    const first = await fixture.start(one);
    await fixture.run('echo first > a');
    await fixture.lose(first);
    // What a command has written that was killed with its manager.
    for (const name of ['a', 'b']) writeFileSync(join(fixture.workspaceOf(one), name), 'lost\n');
    const second = await fixture.start(two);
    expect((await fixture.run('cat a; ls')).stdout).toBe('first\na\n');
    await fixture.run('echo newer > c');
    await fixture.lose(second);
    await fixture.start(one);
    expect(await fixture.run('cat a c; ls')).toMatchObject({ stdout: 'first\nnewer\na\nc\n', stderr: '' });
  });

  describe('with changes of a thread that are not stored', () => {
    let machine: { readonly one: TestMachine; readonly two: TestMachine };
    let first: RunningManager;
    beforeEach(async () => {
      machine = { one: fixture.newMachine(), two: fixture.newMachine() };
      first = await fixture.start(machine.one);
      fixture.hideStore();
      await fixture.run('echo more > b');
    });

    test('the next command waits for the machine that has them', async () => {
      const second = await fixture.start(machine.two);
      await fixture.lose(first);
      fixture.showStore();
      const next = fixture.run('cat b');
      const third = await fixture.start(machine.one);
      expect(await next).toMatchObject({ stdout: 'more\n', stderr: '' });
      await fixture.lose(third);
      expect((await fixture.run('cat b')).stdout).toBe('more\n');
      expect(fixture.managers.running).toEqual([second]);
    });

    test('a new process of the machine stores them without being asked', async () => {
      await fixture.lose(first);
      fixture.showStore();
      await fixture.start(machine.one);
      await waitFor(async () => (await fixture.generations.head(fixture.scope))?.files === 1, {
        what: 'the file',
      });
      expect((await fixture.generations.head(fixture.scope))?.unpublished).toBeUndefined();
      expect((await fixture.run('cat b')).stdout).toBe('more\n');
    });

    test.each(['the same', 'another'])(
      'the manager that takes the thread over dies before its first result: the next one, on %s machine, says what is lost',
      async (which) => {
        await fixture.lose(first);
        fixture.showStore();
        const second = await fixture.start(machine.two);
        const cut = fixture.run('touch begun; sleep 1000').catch((error: unknown) => error);
        const begun = join(fixture.workspaceOf(machine.two), 'begun');
        await waitFor(() => existsSync(begun), { what: 'the command' });
        await fixture.lose(second);

        await fixture.start(which === 'the same' ? machine.two : fixture.newMachine());
        expect((await fixture.run('true')).stderr).toMatch(MISSING);
        expect((await fixture.run('true')).stderr).toBe('');
        expect((await fixture.generations.head(fixture.scope))?.lostSinceMs).toBeUndefined();
        expect(await cut).toBeInstanceOf(Error);
      },
    );

    test('a result that says what is lost ends that, for later managers too', async () => {
      await fixture.lose(first);
      fixture.showStore();
      const second = await fixture.start(machine.two);
      expect((await fixture.run('true')).stderr).toMatch(MISSING);
      await fixture.lose(second);
      await fixture.start(machine.two);
      expect((await fixture.run('true')).stderr).toBe('');
    });

    test('a machine that comes back after they were given up has lost them', async () => {
      await fixture.lose(first);
      fixture.showStore();
      const second = await fixture.start(machine.two);
      const { stdout, stderr } = await fixture.run('ls; echo other > c');
      expect(stdout).toBe('');
      expect(stderr).toMatch(MISSING);
      await fixture.lose(second);
      await fixture.start(machine.one);
      expect(await fixture.run('ls')).toMatchObject({ stdout: 'c\n', stderr: '' });
    });
  });
});

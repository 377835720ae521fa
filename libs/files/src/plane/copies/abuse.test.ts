import { spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { exchangeLoop } from '../../testing/exchange-loop.js';
import { type Machine, PlaneFixture } from '../../testing/plane-fixture.js';

const thread = { userId: 'alice', threadId: 't1' };
const asRoot = process.getuid?.() === 0 ? test : test.skip;

let plane: PlaneFixture;
beforeEach(() => (plane = new PlaneFixture()));
afterEach(() => plane.close());

const at = (machine: Machine, path: string): string => join(machine.userData(thread), path);

describe('local copies of a user who interferes', () => {
  test.each([
    { how: 'walked', maxWalked: 2_000, minShare: 2_000 },
    { how: 'scanned by find', maxWalked: 0, minShare: 2_000 },
    { how: 'scanned by two finds', maxWalked: 0, minShare: 0 },
  ])(
    'nothing outside is read or written while names are exchanged, $how',
    async ({ maxWalked, minShare }) => {
      const machine = plane.machine(maxWalked, minShare);
      const other = plane.machine();
      await machine.refresh(thread);
      const outside = join(machine.homeDir, 'outside');
      mkdirSync(outside);
      writeFileSync(join(outside, 'f'), 'LEAK');
      mkdirSync(at(machine, 'workspace/a'));
      writeFileSync(at(machine, 'workspace/a/f'), 'mine');
      symlinkSync(outside, at(machine, 'workspace/b'));
      await machine.publish(thread);
      const swapper = spawn('python3', ['-c', exchangeLoop, at(machine, 'workspace/a'), at(machine, 'workspace/b')], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await new Promise((resolve) => swapper.stdout.once('data', resolve));
      for (let round = 0; round < 40; round += 1) {
        await machine.publish(thread);
        await other.refresh(thread);
        writeFileSync(at(other, `uploads/${round}`), 'theirs');
        mkdirSync(at(other, 'workspace/a'), { recursive: true });
        if (lstatSync(at(other, 'workspace/a')).isDirectory()) writeFileSync(at(other, 'workspace/a/g'), `${round}`);
        await other.publish(thread);
        await machine.refresh(thread);
      }
      swapper.kill('SIGKILL');
      for (const bytes of plane.objects.objects.values()) expect(bytes.includes('LEAK')).toBe(false);
      expect(readdirSync(outside)).toEqual(['f']);
      expect(readFileSync(join(outside, 'f'), 'utf8')).toBe('LEAK');
    },
    120_000,
  );

  test.each([2_000, 0])(
    'directories that were exchanged, with files of the same names, are read again',
    async (minShare) => {
      const machine = plane.machine(0, minShare);
      const other = plane.machine();
      await machine.refresh(thread);
      for (const name of ['a', 'b']) {
        mkdirSync(at(machine, `workspace/${name}/deep`), { recursive: true });
        writeFileSync(at(machine, `workspace/${name}/deep/same`), name);
      }
      await machine.publish(thread);
      await machine.publish(thread);
      renameSync(at(machine, 'workspace/a'), at(machine, 'workspace/c'));
      renameSync(at(machine, 'workspace/b'), at(machine, 'workspace/a'));
      renameSync(at(machine, 'workspace/c'), at(machine, 'workspace/b'));
      await machine.publish(thread);
      await other.refresh(thread);
      expect(other.snapshot(thread)).toEqual(machine.snapshot(thread));
      expect(readFileSync(at(other, 'workspace/a/deep/same'), 'utf8')).toBe('b');
    },
  );

  test('deep directories and what is not readable do not stop a publication', async () => {
    const machine = plane.machine();
    await machine.refresh(thread);
    mkdirSync(at(machine, `workspace/${'d/'.repeat(80)}`), { recursive: true });
    writeFileSync(at(machine, 'workspace/shallow'), 'x');
    const plan = await machine.copies.publish(thread, { head: null });
    expect(plan?.skipped.tooDeep).toBeGreaterThan(0);
    expect(await machine.publish(thread)).toMatchObject({ outcome: 'published', head: { files: 1 } });
    expect((await machine.publish(thread)).outcome).toBe('unchanged');
  });
});

describe('local copies of a process that is not root', () => {
  const UID = 23_456;
  /** Runs the work with the rights of an ordinary user. */
  async function asUser(machine: Machine, work: () => Promise<void>): Promise<void> {
    chownSync(machine.homeDir, UID, UID);
    const spies = [jest.spyOn(process, 'getuid'), jest.spyOn(process, 'getgid')];
    for (const spy of spies) spy.mockReturnValue(UID);
    process.setegid?.(UID);
    process.seteuid?.(UID);
    try {
      await work();
    } finally {
      process.seteuid?.(0);
      process.setegid?.(0);
      for (const spy of spies) spy.mockRestore();
    }
  }

  asRoot(
    'what it may not read is counted and stays in the files; what it may not write in is opened for the time',
    async () => {
      const [machine, other] = [plane.machine(), plane.machine()];
      await asUser(machine, async () => {
        machine.restart();
        await machine.refresh(thread);
        for (const path of ['closed', 'readonly/inner'])
          mkdirSync(at(machine, `workspace/${path}`), { recursive: true });
        for (const path of ['closed/f', 'readonly/inner/f', 'secret'])
          writeFileSync(at(machine, `workspace/${path}`), 'x');
        await machine.publish(thread);
        chmodSync(at(machine, 'workspace/closed'), 0);
        chmodSync(at(machine, 'workspace/secret'), 0);
        for (const path of ['readonly/inner', 'readonly']) chmodSync(at(machine, `workspace/${path}`), 0o500);
        const plan = await machine.copies.publish(thread, { head: await plane.generations.head(thread) });
        expect(plan?.skipped.closed).toBeGreaterThan(0);
        expect(await machine.publish(thread)).toMatchObject({
          outcome: 'published',
          head: { files: 3 },
          isPartial: false,
        });
      });
      await other.refresh(thread);
      writeFileSync(at(other, 'workspace/readonly/inner/f'), 'by another');
      writeFileSync(at(other, 'workspace/closed/new'), 'by another');
      await other.publish(thread);
      await asUser(machine, async () => {
        await machine.refresh(thread);
        expect(readFileSync(at(machine, 'workspace/readonly/inner/f'), 'utf8')).toBe('by another');
      });
      const modes = ['readonly/inner', 'readonly', 'closed'].map(
        (path) => statSync(at(machine, `workspace/${path}`)).mode & 0o777,
      );
      expect(modes).toEqual([0o500, 0o500, 0]);
      expect(existsSync(at(machine, 'workspace/closed/new'))).toBe(true);
    },
  );
});

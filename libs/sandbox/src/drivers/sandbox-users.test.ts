import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { userFiles } from '@caribou/files';
import { commandIdentity } from '@caribou/core';
import { temporaryFolder, testSandboxSettings } from '@caribou/testing';
import { BwrapDriver } from '../bwrap/bwrap-driver.js';
import type { SandboxSettings } from './settings.js';
import { releaseUsersOf, SandboxUsers } from './sandbox-users.js';

const folder = temporaryFolder();
const UIDS = { first: 23_000, count: 16 };
const describeIfRoot = process.getuid?.() === 0 ? describe : describe.skip;

let count = 0;
function newSettings(changes: Partial<SandboxSettings> = {}): SandboxSettings {
  const home = join(folder, `home-${(count += 1)}`);
  const settings = testSandboxSettings(home, { driver: 'bwrap', uids: UIDS, ...changes });
  settings.mounts.prepareHome();
  return settings;
}

const specOf = (threadId: string, managerId = 'm1') => ({
  ...{ sandboxId: `caribou-${threadId}`, managerId },
  ...{ userId: 'default', threadId },
});
const inRange = (uid: number): boolean => uid >= UIDS.first && uid < UIDS.first + UIDS.count;

describeIfRoot('SandboxUsers', () => {
  test('gives each live sandbox a uid of its own, also those of several managers of the machine', async () => {
    const settings = newSettings();
    const managers = [new SandboxUsers(settings), new SandboxUsers(settings)];
    const uids: number[] = [];
    for (let thread = 0; thread < UIDS.count; thread += 1) {
      const [users, spec] = [managers[thread % 2], specOf(`t${thread}`, `m${thread % 2}`)];
      await users?.prepare(spec);
      uids.push(users?.identityOf(spec).uid ?? 0);
    }

    expect(new Set(uids).size).toBe(UIDS.count);
    expect(uids.every(inRange)).toBe(true);
    await expect(managers[0]?.prepare(specOf('one-too-many'))).rejects.toThrow('all 16 users are in use');
    managers[0]?.release(specOf('t0', 'm0'));
    await managers[0]?.prepare(specOf('one-too-many'));
    expect(managers[0]?.identityOf(specOf('one-too-many')).uid).toBe(uids[0]);
  });

  test('a thread keeps its uid, unless a live sandbox of the machine has it: then it gets all files with another one', async () => {
    const settings = newSettings();
    const [first, second] = [
      new SandboxUsers(settings),
      new SandboxUsers({ ...settings, runDir: `${settings.runDir}-b` }),
    ];
    await first.prepare(specOf('t1'));
    const { uid } = first.identityOf(specOf('t1'));
    first.release(specOf('t1'));
    await second.prepare(specOf('t1', 'm2'));
    expect(second.identityOf(specOf('t1')).uid).toBe(uid);

    const other = new SandboxUsers({ ...settings, uids: { first: uid, count: 16 } });
    await settings.mounts.prepareData(specOf('t2'), { uid, gid: commandIdentity().gid });
    await other.prepare(specOf('t2', 'm3'));
    await other.prepare(specOf('t1', 'm3'));

    const { workspace } = await settings.mounts.dataOf(specOf('t1'));
    expect([other.identityOf(specOf('t2')).uid, other.identityOf(specOf('t1')).uid]).toEqual([uid, uid + 1]);
    expect(statSync(workspace).uid).toBe(uid + 1);
  });

  test('the uid of a sandbox passes to the manager that takes it over, and those of a dead manager become free', async () => {
    const settings = newSettings();
    const [dead, next] = [new SandboxUsers(settings), new SandboxUsers(settings)];
    await dead.prepare(specOf('t1'));
    await dead.prepare(specOf('t2'));
    await next.prepare(specOf('t1', 'm2'));
    expect(next.identityOf(specOf('t1'))).toEqual(dead.identityOf(specOf('t1')));

    dead.release(specOf('t1'));
    releaseUsersOf('m1', settings);

    expect(readdirSync(join(settings.runDir, 'uids'))).toEqual([String(next.identityOf(specOf('t1')).uid)]);
  });

  test('without a range the files of a thread belong to the one user of all commands, again where there was one', async () => {
    const settings = newSettings();
    await new SandboxUsers(settings).prepare(specOf('t1'));
    const { workspace } = await settings.mounts.dataOf(specOf('t1'));
    expect(inRange(statSync(workspace).uid)).toBe(true);

    await new SandboxUsers({ ...settings, uids: { ...UIDS, count: 0 } }).prepare(specOf('t1'));

    expect(statSync(workspace).uid).toBe(commandIdentity().uid);
  });
});

describeIfRoot('BwrapDriver with a user for each sandbox', () => {
  test('runs commands as that user, who can change what uploads and the file tools have made', async () => {
    const settings = newSettings();
    const driver = new BwrapDriver(settings);
    expect(await driver.probe()).toMatchObject({ ok: true });
    const files = userFiles(settings.homeDir);
    const [one, two] = [specOf('t1'), specOf('t2')];
    const outputOf = async (spec: typeof one, command: string): Promise<string> => {
      const request = { command, timeoutMs: 20_000, maxOutputBytes: 4_096 };
      const { stdout, stderr } = await driver.exec(spec, request, new AbortController().signal);
      return (stdout + stderr).trim();
    };
    const upload = async (name: string): Promise<void> => {
      const intake = await files.openIntake(one);
      await (
        await intake.receive(
          (async function* () {
            yield Buffer.from('uploaded\n');
          })(),
          100,
        )
      ).publish(name);
      await intake.close();
    };

    await upload('before');
    for (const spec of [one, two]) await driver.create(spec, { fresh: true });
    await upload('after');
    const write =
      'id -u; for f in before after; do echo more >> /mnt/user-data/uploads/$f || exit; done; cat /mnt/user-data/uploads/*';
    const [uid, ...lines] = (await outputOf(one, write)).split('\n');

    expect(lines).toEqual(['uploaded', 'more', 'uploaded', 'more']);
    expect(inRange(Number(uid))).toBe(true);
    expect(await outputOf(two, 'id -u; id -g; id -un')).toMatch(/^\d+\n10001\nsandbox$/);
    expect(await outputOf(two, 'id -u')).not.toBe(uid);
    for (const spec of [one, two]) await driver.remove(spec);
    expect(readdirSync(join(settings.runDir, 'uids'))).toEqual([]);
  });
});

import { mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandIdentity, DATA_DIRECTORIES } from '@caribou/core';
import { sandboxMounts } from './sandbox-mounts.js';

const thread = { userId: 'default', threadId: 't1' };

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'caribou-mounts-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe('sandboxMounts', () => {
  test('gives the paths of directories that belong to the user of commands', async () => {
    const mounts = sandboxMounts(home);
    await mounts.prepareData(thread);

    const data = await mounts.dataOf(thread);

    expect(Object.keys(data)).toEqual([...DATA_DIRECTORIES]);
    for (const path of Object.values(data)) {
      expect(path.startsWith(`${home}/`)).toBe(true);
      expect(statSync(path)).toMatchObject({ uid: commandIdentity().uid });
    }
  });

  test('refuses a thread without directories, and a link in the place of one', async () => {
    const mounts = sandboxMounts(home);
    await expect(mounts.dataOf(thread)).rejects.toMatchObject({ reason: 'not_found' });
    await mounts.prepareData(thread);
    const { outputs } = await mounts.dataOf(thread);
    rmSync(outputs, { recursive: true });
    symlinkSync('/etc', outputs);

    await expect(mounts.dataOf(thread)).rejects.toMatchObject({ reason: 'not_regular' });
  });

  test('asks for the skills of the user each time, and has none where no skills are served', async () => {
    const skills = (userId: string) => Promise.resolve({ directory: `/skills/${userId}`, instance: '1' });

    expect(await sandboxMounts(home, skills).skillsOf('u1')).toEqual({ directory: '/skills/u1', instance: '1' });
    expect(await sandboxMounts(home).skillsOf('u1')).toBeUndefined();
  });
});

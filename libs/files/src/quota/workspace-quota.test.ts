import { commandIdentity } from '@caribou/core';
import { temporaryFolder } from '@caribou/testing';
import { threadFiles } from '../thread-files.js';
import { WorkspaceQuota } from './workspace-quota.js';

const KiB = 1024;
const files = threadFiles(temporaryFolder(), commandIdentity());
const limits = { workspaceBytes: 256 * KiB, workspaceFiles: 100, minFreeBytes: 0 };
const at = (name: string): string => `/mnt/user-data/workspace/${name}`;

/** The quota as one process has it, and its clock. */
function inProcess() {
  const time = { ms: 0 };
  return { time, quota: new WorkspaceQuota(files, limits, () => time.ms) };
}

describe('WorkspaceQuota of several processes', () => {
  test('refuses a write for what another process has written since its last measurement', async () => {
    const thread = { userId: 'default', threadId: 't1' };
    const [gateway, manager] = [inProcess(), inProcess()];
    await files.prepare(thread);
    await gateway.quota.guard(files).replace(thread, at('small'), Buffer.alloc(KiB));
    await manager.quota.guard(files).replace(thread, at('large'), Buffer.alloc(200 * KiB));

    gateway.time.ms += 1_000;
    const upload = gateway.quota.guard(files).replace(thread, at('upload'), Buffer.alloc(100 * KiB));

    await expect(upload).rejects.toThrow("this thread's files take");
  });

  test('measures once for the writes of a second', async () => {
    const thread = { userId: 'default', threadId: 't2' };
    const { time, quota } = inProcess();
    await files.prepare(thread);
    const measured = jest.spyOn(quota, 'measure');
    const write = (name: string): Promise<number> => quota.guard(files).replace(thread, at(name), Buffer.alloc(KiB));

    for (const name of ['a', 'b', 'c']) await write(name);
    expect(measured).toHaveBeenCalledTimes(1);

    time.ms += 1_000;
    await write('d');
    expect(measured).toHaveBeenCalledTimes(2);
  });
});

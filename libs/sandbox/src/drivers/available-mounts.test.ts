import { NotFoundError, UnavailableError } from '@caribou/contracts';
import type { SandboxMounts } from '@caribou/core';
import { testSandboxSettings } from '@caribou/testing';
import { beforeStart, dataMounts, skillsMount } from './available-mounts.js';
import { SandboxGoneError } from './driver.js';

const sandbox = { sandboxId: 'caribou-1', managerId: 'm1', userId: 'default', threadId: 't1' };
const settingsThat = (error: Error) => {
  const mounts: SandboxMounts = {
    prepareHome: () => undefined,
    prepareData: () => Promise.resolve(),
    ownerOf: () => Promise.resolve({ uid: 1, gid: 1 }),
    dataOf: () => Promise.reject(error),
    skillsOf: () => Promise.reject(error),
  };
  return testSandboxSettings('/none', { mounts });
};

test('what cannot be mounted is an UnavailableError that says why', async () => {
  const missing = new NotFoundError('workspace: no such file');

  await expect(dataMounts(settingsThat(missing), sandbox, 'bwrap')).rejects.toMatchObject({
    name: 'UnavailableError',
    message: 'the directories of the thread do not exist',
    details: { dependency: 'bwrap' },
    cause: missing,
  });
  await expect(skillsMount(settingsThat(missing), sandbox)).rejects.toMatchObject({
    name: 'UnavailableError',
    message: missing.message,
    cause: missing,
  });
});

test('before the start of a command that is a SandboxGoneError: it may be tried again', async () => {
  const details = { dependency: 'disk' };
  const error = new UnavailableError('the disk is away', { details });

  await expect(beforeStart(skillsMount(settingsThat(error), sandbox))).rejects.toMatchObject({
    message: error.message,
    details,
  });
  await expect(beforeStart(skillsMount(settingsThat(error), sandbox))).rejects.toBeInstanceOf(SandboxGoneError);
});

test('an error of ours is not hidden', async () => {
  const bug = new TypeError('no function');

  await expect(dataMounts(settingsThat(bug), sandbox, 'docker')).rejects.toBe(bug);
  await expect(beforeStart(skillsMount(settingsThat(bug), sandbox))).rejects.toBe(bug);
});

import { chmodSync, chownSync, mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { commandIdentity, DATA_DIRECTORIES, type SandboxMounts } from '@caribou/core';
import { makeClosedDirectory } from './closed-directory.js';

/** A home for a trial sandbox: its thread has no owner and no skills. */
export interface TrialHome {
  readonly homeDir: string;
  readonly mounts: SandboxMounts;
}

const DIRECTORY_MODE = 0o755;

/** Makes a trial home below the home, which must exist; the caller removes it. */
export function makeTrialHome(homeDir: string): TrialHome {
  const directory = mkdtempSync(join(homeDir, 'probe-'));
  makeClosedDirectory(directory);
  const data = {
    workspace: join(directory, 'workspace'),
    uploads: join(directory, 'uploads'),
    outputs: join(directory, 'outputs'),
  };
  return {
    homeDir: directory,
    mounts: {
      prepareHome: () => undefined,
      prepareData: () => {
        for (const name of DATA_DIRECTORIES) makeDataDirectory(data[name]);
        return Promise.resolve();
      },
      dataOf: () => Promise.resolve(data),
      skillsOf: () => Promise.resolve(undefined),
    },
  };
}

function makeDataDirectory(path: string): void {
  mkdirSync(path, { recursive: true });
  const { uid, gid } = commandIdentity();
  if (process.getuid?.() === 0) chownSync(path, uid, gid);
  chmodSync(path, DIRECTORY_MODE);
}

import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { omitUndefined } from '@caribou/contracts';
import { commandIdentity, DATA_DIRECTORIES, type DataMounts } from '@caribou/core';
import { prepareRunDirectory } from './run-directory.js';
import { makeClosedDirectory } from './closed-directory.js';
import type { SandboxSettings } from './settings.js';

/** What a trial sandbox has of its own: its thread has no owner and no skills. */
export interface TrialHome {
  readonly settings: Pick<
    SandboxSettings,
    'homeDir' | 'hostHomeDir' | 'runDir' | 'hostRunDir' | 'mounts' | 'mayStart' | 'uids'
  >;
  readonly data: DataMounts;
  /** Removes all of it. */
  remove(): void;
}

const DIRECTORY_MODE = 0o755;

/** Makes a trial home below the home, which must exist, and a run directory for it below the run directory. */
export function makeTrialHome({ homeDir, hostHomeDir, runDir, hostRunDir }: SandboxSettings): TrialHome {
  prepareRunDirectory(runDir);
  const directory = mkdtempSync(join(homeDir, 'probe-'));
  const name = basename(directory);
  const below = (path: string | undefined) => (path === undefined ? undefined : join(path, name));
  makeClosedDirectory(directory);
  const data = {
    workspace: join(directory, 'workspace'),
    uploads: join(directory, 'uploads'),
    outputs: join(directory, 'outputs'),
  };
  return {
    data,
    settings: {
      // A trial is no command of a thread.
      mayStart: () => true,
      uids: { first: 0, count: 0 },
      homeDir: directory,
      runDir: join(runDir, name),
      ...omitUndefined({ hostHomeDir: below(hostHomeDir), hostRunDir: below(hostRunDir) }),
      mounts: {
        prepareHome: () => undefined,
        prepareData: () => {
          for (const kind of DATA_DIRECTORIES) makeDataDirectory(data[kind]);
          return Promise.resolve();
        },
        ownerOf: () => Promise.resolve(commandIdentity()),
        dataOf: () => Promise.resolve(data),
        skillsOf: () => Promise.resolve(undefined),
      },
    },
    remove: () => {
      for (const path of [directory, join(runDir, name)]) rmSync(path, { recursive: true, force: true });
    },
  };
}

function makeDataDirectory(path: string): void {
  mkdirSync(path, { recursive: true });
  const { uid, gid } = commandIdentity();
  if (process.getuid?.() === 0) chownSync(path, uid, gid);
  chmodSync(path, DIRECTORY_MODE);
}

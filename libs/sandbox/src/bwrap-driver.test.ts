import { chmodSync } from 'node:fs';
import {
  describeFileAbuse,
  describeSandboxAbuse,
  describeSandboxDriver,
  describeWorkspaceQuota,
  skillsBelow,
} from '@caribou/testing';
import { BwrapDriver } from './bwrap-driver.js';
import { commandIdentity } from './identity.js';
import { DEFAULT_SANDBOX_LIMITS } from './settings.js';
import { threadFiles } from './thread-files.js';

const MiB = 1024 * 1024;
const limits = {
  ...DEFAULT_SANDBOX_LIMITS,
  memoryBytes: 256 * MiB,
  pids: 64,
  tmpBytes: 8 * MiB,
  fileBytes: 16 * MiB,
  outputCeilingBytes: 2 * MiB,
};

async function ready(homeDir: string): Promise<BwrapDriver> {
  const driver = new BwrapDriver({
    driver: 'bwrap',
    image: 'none',
    limits,
    homeDir,
    skills: skillsBelow(homeDir),
  });
  const probe = await driver.probe();
  if (!probe.ok) throw new Error(probe.reason);
  return driver;
}

const underTest = { uid: commandIdentity().uid, files: (homeDir: string) => threadFiles(homeDir, commandIdentity()) };

describeSandboxDriver('BwrapDriver below a closed directory', { ...underTest, make: ready });

describeSandboxDriver('BwrapDriver below a searchable directory', {
  ...underTest,
  make: (homeDir) => {
    chmodSync(homeDir, 0o755);
    return ready(homeDir);
  },
});

describeSandboxAbuse('BwrapDriver', { ...underTest, make: ready });
describeFileAbuse('BwrapDriver', { ...underTest, make: ready });
describeWorkspaceQuota('BwrapDriver', { ...underTest, make: ready });

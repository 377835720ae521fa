import { realpathSync } from 'node:fs';
import { describeSandboxNetwork } from '@caribou/testing';
import { BwrapDriver } from './bwrap-driver.js';
import { commandIdentity } from '../files/identity.js';
import { DEFAULT_SANDBOX_LIMITS } from '../drivers/settings.js';
import { threadFiles } from '../files/thread-files.js';

jest.setTimeout(60_000);

const node = realpathSync(process.execPath);

describeSandboxNetwork('BwrapDriver', {
  make: async (homeDir, network) => {
    // Node, as the tests' client, needs more than 700 MiB of address space.
    const settings = { driver: 'bwrap', image: 'none', limits: DEFAULT_SANDBOX_LIMITS, homeDir } as const;
    const driver = new BwrapDriver({ ...settings, ...(network === undefined ? {} : { network }) });
    const probe = await driver.probe();
    if (!probe.ok) throw new Error(probe.reason);
    return driver;
  },
  files: (homeDir) => threadFiles(homeDir, commandIdentity()),
  node: node.startsWith('/usr/') ? node : '/run/caribou-node',
  forwarderStays: false,
});

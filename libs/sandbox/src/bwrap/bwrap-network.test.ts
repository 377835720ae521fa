import { realpathSync } from 'node:fs';
import { describeSandboxNetwork, testSandboxSettings } from '@caribou/testing';
import { commandIdentity } from '@caribou/core';
import { sandboxMounts, threadFiles } from '@caribou/files';
import { BwrapDriver } from './bwrap-driver.js';

const node = realpathSync(process.execPath);

describeSandboxNetwork('BwrapDriver', {
  make: async (homeDir, network) => {
    // Node, as the tests' client, needs more than 700 MiB of address space.
    const fixed = { driver: 'bwrap', mounts: sandboxMounts(homeDir) } as const;
    const exit = network === undefined ? {} : { network };
    const driver = new BwrapDriver(testSandboxSettings(homeDir, { ...fixed, ...exit }));
    const probe = await driver.probe();
    if (!probe.ok) throw new Error(probe.reason);
    return driver;
  },
  files: (homeDir) => threadFiles(homeDir, commandIdentity()),
  node: node.startsWith('/usr/') ? node : '/run/caribou-node',
  forwarderStays: false,
});

import { basename } from 'node:path';
import {
  describeSandboxNetwork,
  importImage,
  missingForDocker,
  missingForGvisor,
  processesInContainers,
  testSandboxSettings,
} from '@caribou/testing';
import { commandIdentity } from '@caribou/core';
import { sandboxMounts, threadFiles } from '@caribou/files';
import { DockerDriver } from './docker-driver.js';
import type { SandboxSettings } from '../drivers/settings.js';

const IMAGE = 'caribou-sandbox-node-test';

const underTest = (more: Pick<SandboxSettings, 'runtime'>): Parameters<typeof describeSandboxNetwork>[1] => ({
  make: async (homeDir, network) => {
    const exit = network === undefined ? {} : { network };
    const fixed = { driver: 'docker', image: `${IMAGE}:latest`, mounts: sandboxMounts(homeDir) } as const;
    const driver = new DockerDriver(testSandboxSettings(homeDir, { ...fixed, ...more, ...exit }));
    const probe = await driver.probe();
    if (!probe.ok) throw new Error(probe.reason);
    return driver;
  },
  files: (homeDir) => threadFiles(homeDir, commandIdentity()),
  node: basename(process.execPath),
  forwarderStays: true,
});

const suites = [
  {
    name: 'DockerDriver',
    reason: missingForDocker(),
    declare: () => describeSandboxNetwork('DockerDriver', underTest({})),
  },
  {
    name: 'DockerDriver with gVisor',
    reason: missingForGvisor(),
    declare: () =>
      describeSandboxNetwork('DockerDriver with gVisor', {
        ...underTest({ runtime: 'runsc' }),
        processesWith: processesInContainers,
      }),
  },
];
if (suites.some(({ reason }) => reason === null)) {
  jest.setTimeout(120_000);
  beforeAll(() => importImage(IMAGE, [process.execPath]), 120_000);
}
for (const { name, reason, declare } of suites) {
  if (reason === null) {
    declare();
  } else {
    test.skip(`${name} with a network: ${reason}`, () => undefined);
    process.stderr.write(`skipped: ${name} with a network (${reason})\n`);
  }
}

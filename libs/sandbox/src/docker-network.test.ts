import { basename } from 'node:path';
import { describeSandboxNetwork, importImage, missingForDocker } from '@caribou/testing';
import { DockerDriver } from './docker-driver.js';
import { commandIdentity } from './identity.js';
import { DEFAULT_SANDBOX_LIMITS } from './settings.js';
import { threadFiles } from './thread-files.js';

const IMAGE = 'caribou-sandbox-node-test';

const reason = missingForDocker();
if (reason === null) {
  jest.setTimeout(120_000);
  beforeAll(() => importImage(IMAGE, [process.execPath]), 120_000);

  describeSandboxNetwork('DockerDriver', {
    make: async (homeDir, network) => {
      const settings = { driver: 'docker', image: `${IMAGE}:latest`, limits: DEFAULT_SANDBOX_LIMITS, homeDir } as const;
      const driver = new DockerDriver({ ...settings, ...(network === undefined ? {} : { network }) });
      const probe = await driver.probe();
      if (!probe.ok) throw new Error(probe.reason);
      return driver;
    },
    files: (homeDir) => threadFiles(homeDir, commandIdentity()),
    node: basename(process.execPath),
    forwarderStays: true,
  });
} else {
  test.skip(`DockerDriver with a network: ${reason}`, () => undefined);
  process.stderr.write(`skipped: DockerDriver with a network (${reason})\n`);
}

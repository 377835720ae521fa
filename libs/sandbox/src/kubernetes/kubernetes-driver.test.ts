import {
  describeFileAbuse,
  describeSandboxAbuse,
  describeSandboxDriver,
  describeWorkspaceQuota,
  IN_POD,
  missingForPodNetworks,
} from '@caribou/testing';
import { type ClusterFixture, openFakeCluster } from '../testing/cluster-fixture.js';
import type { SandboxSettings } from '../drivers/settings.js';
import { fileAccess, suiteLimits } from '../testing/driver-suites.js';

const reason = missingForPodNetworks();
if (reason === null) {
  jest.setTimeout(60_000);
  let cluster: ClusterFixture;
  beforeAll(async () => {
    cluster = await openFakeCluster();
  }, 60_000);
  afterAll(() => cluster.close(), 60_000);

  const make = (homeDir: string, limits?: Partial<SandboxSettings['limits']>) =>
    cluster.make(homeDir, undefined, limits === undefined ? {} : { limits: { ...suiteLimits(homeDir), ...limits } });
  const underTest = { ...fileAccess, make, traits: IN_POD };
  describeSandboxDriver('KubernetesDriver', underTest);
  describeSandboxAbuse('KubernetesDriver', underTest);
  describeFileAbuse('KubernetesDriver', underTest);
  describeWorkspaceQuota('KubernetesDriver', underTest);
} else {
  test.skip(`KubernetesDriver: ${reason}`, () => undefined);
  process.stderr.write(`skipped: KubernetesDriver (${reason})\n`);
}

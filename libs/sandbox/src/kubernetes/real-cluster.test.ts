import {
  describeFileAbuse,
  describeSandboxAbuse,
  describeSandboxDriver,
  describeSandboxNetwork,
  describeWorkspaceQuota,
  IN_POD,
} from '@caribou/testing';
import type { SandboxSettings } from '../drivers/settings.js';
import { fileAccess } from '../testing/driver-suites.js';
import { missingForCluster, openRealCluster } from '../testing/real-cluster.js';

const reason = missingForCluster();
if (reason === null) {
  jest.setTimeout(180_000);
  const cluster = openRealCluster();
  afterAll(() => cluster.close(), 60_000);

  const make = (homeDir: string, limits?: Partial<SandboxSettings['limits']>) =>
    cluster.make(homeDir, undefined, limits);
  const underTest = { ...fileAccess, make, traits: IN_POD };
  describeSandboxDriver('KubernetesDriver on a cluster', underTest);
  describeSandboxAbuse('KubernetesDriver on a cluster', underTest);
  describeFileAbuse('KubernetesDriver on a cluster', underTest);
  describeWorkspaceQuota('KubernetesDriver on a cluster', underTest);
  describeSandboxNetwork('KubernetesDriver on a cluster', {
    files: fileAccess.files,
    make: (homeDir, network) => cluster.make(homeDir, network),
    ...{ node: 'node', forwarderStays: false, leavesBy: 'agent', interfaces: IN_POD.interfaces },
  });
} else {
  test.skip(`KubernetesDriver on a cluster: ${reason}`, () => undefined);
  process.stderr.write(`skipped: KubernetesDriver on a cluster (${reason})\n`);
}

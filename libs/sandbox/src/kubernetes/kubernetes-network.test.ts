import { describeSandboxNetwork, IN_POD, missingForPodNetworks } from '@caribou/testing';
import { type ClusterFixture, openFakeCluster } from '../testing/cluster-fixture.js';
import { fileAccess } from '../testing/driver-suites.js';

const reason = missingForPodNetworks();
if (reason === null) {
  let cluster: ClusterFixture;
  beforeAll(async () => {
    cluster = await openFakeCluster();
  }, 60_000);
  afterAll(() => cluster.close(), 60_000);

  describeSandboxNetwork('KubernetesDriver', {
    files: fileAccess.files,
    make: (homeDir, network) => cluster.make(homeDir, network),
    ...{ node: 'node', forwarderStays: false, leavesBy: 'agent', interfaces: IN_POD.interfaces },
  });
} else {
  test.skip(`KubernetesDriver with a network: ${reason}`, () => undefined);
  process.stderr.write(`skipped: KubernetesDriver with a network (${reason})\n`);
}

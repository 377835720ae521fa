const Sequencer = require('@jest/test-sequencer').default;

/**
 * Tests that take longest by far. Without a cache of times, as in a fresh clone, jest begins with the largest files, and
 * these are not large: started last, each would run alone for a minute or two. Those that load an engine are apart.
 */
const long = [
  'e2e/api/deletion.test.ts',
  'e2e/sandbox/dead-manager.test.ts',
  'libs/sandbox/src/docker/gvisor-driver.test.ts',
  'e2e/runs/timers.test.ts',
  'e2e/chaos/simulator.test.ts',
  'e2e/files/three-machines.test.ts',
  'e2e/memory/memory-worker.test.ts',
  'e2e/runs/takeover.test.ts',
  'e2e/protocol/browser.test.ts',
  'e2e/console/signing-in.test.ts',
  'e2e/files/file-histories.test.ts',
  'e2e/runs/approvals.test.ts',
  'e2e/console/panels.test.ts',
  'e2e/decisions/decisions.test.ts',
  'libs/sandbox/src/kubernetes/kubernetes-driver.test.ts',
  'e2e/sdk/client.test.ts',
  'e2e/tools/mcp.test.ts',
  'e2e/runs/start.test.ts',
  'e2e/models/providers.test.ts',
  'e2e/console/talk.test.ts',
  'e2e/runs/outage.test.ts',
  'e2e/protocol/thread-stream.test.ts',
  'apps/sandbox-manager/src/test/lost-managers.test.ts',
  'e2e/console/tour-operator.test.ts',
  'e2e/runs/rolling.test.ts',
  'libs/sandbox/src/docker/docker-network.test.ts',
  'libs/sandbox/src/bwrap/bwrap-driver.test.ts',
  'e2e/chaos/chaos.test.ts',
  'e2e/console/settings.test.ts',
  'e2e/memory/memory.test.ts',
  'libs/documents/src/text/page.test.ts',
  'e2e/console/conversations.test.ts',
  'e2e/sandbox/managers.test.ts',
  'e2e/files/two-machines.test.ts',
  'libs/sandbox/src/docker/docker-driver.test.ts',
  'e2e/crons/catch-up.test.ts',
  'libs/sandbox/src/test/ordinary-user.test.ts',
  'e2e/console/frame.test.ts',
  'e2e/runs/nats-cluster.test.ts',
];

/** @param {{ path: string }} test */
const rankOf = ({ path }) => {
  const rank = long.findIndex((file) => path.endsWith(`/${file}`));
  return rank < 0 ? long.length : rank;
};

/** Jest's order, with the long tests before all others. */
module.exports = class LongTestsFirst extends Sequencer {
  /** @param {{ path: string }[]} tests */
  sort(tests) {
    return [...super.sort(tests)].sort((a, b) => rankOf(a) - rankOf(b));
  }
};

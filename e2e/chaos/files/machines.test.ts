import { runChaos } from '../run-chaos.js';

jest.setTimeout(300_000);

/** As `npm run chaos -- --machines 2`, as short as the store can be killed twice. */
test('no file is lost or old on two machines with an object store that fails', async () => {
  const { violations, ...figures } = await runChaos({
    ...{
      seed: 31,
      durationMs: 9_000,
      quietMs: 2_000,
      settleMs: 60_000,
      patienceMs: 120_000,
      meanPauseMs: 2_000,
      lanes: 4,
    },
    fleet: { gateway: 2, 'agent-runner': 1, 'sandbox-manager': 2, 'subagent-pool': 1, 'memory-worker': 1 },
    ...{ machines: 2, say: () => undefined },
  });
  expect(violations).toEqual([]);
  expect(figures.storeKills).toBe(2);
  expect(figures.files.storeFailures).toBeGreaterThan(0);
  expect(figures.files.readAtEnd).toBeGreaterThan(0);
});

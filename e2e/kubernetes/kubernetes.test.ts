import type { ApiClient } from '../support/client.js';
import { clientOf, startStack } from '../support/stack.js';
import { bash } from '../chaos/turns.js';
import { measureCommands, sandboxStarts, untilSettled } from './measure.js';
import { runScenario } from './scenario.js';
import { type ClusterScene, setClusterScene } from './scene.js';
import { clusterSettings, missingCluster } from './settings.js';

const missing = missingCluster();
const say = (line: string): void => void process.stderr.write(`${line}\n`);
const SCENARIO_MS = 60 * 60_000;
/** Of each of two sandbox-managers. */
const WARM_PODS = 2;

jest.setTimeout(15 * 60_000);

(missing === null ? describe : describe.skip)(
  `the chart on a cluster${missing === null ? '' : ` (skipped: ${missing})`}`,
  () => {
    let scene: ClusterScene | undefined;
    let client: ApiClient;
    const settings = missing === null ? clusterSettings() : undefined;

    beforeAll(async () => {
      if (settings === undefined) throw new Error('no settings');
      scene = await setClusterScene(settings);
      client = clientOf(scene.gateway);
    });

    afterAll(async () => {
      await scene?.close();
    });

    test('the request of the README runs its command in a pod', async () => {
      const beganMs = performance.now();
      const threadId = await client.newThread();
      const stream = await client.run(threadId, `first\n${bash('echo uid=$(id -u); hostname')}\n#say Done.`);
      const frames = await stream.end(120_000);

      expect(frames.at(-1)?.event).toBe('end');
      // Each pod has a user of its own where its node gives it no user namespace.
      expect(JSON.stringify(frames)).toMatch(/uid=[1-9]\d{4,9}\b.*sandbox/);
      say(`first turn with a command: ${Math.round(performance.now() - beganMs)} ms`);
    });

    test('commands are measured beside those of bubblewrap on this machine, and with pods that wait', async () => {
      if (scene === undefined) throw new Error('nothing is installed');
      const { kubectl, installation } = scene;
      const coldSince = new Date();
      const pods = { ...(await measureCommands(client)), startsMs: await sandboxStarts(kubectl, coldSince) };
      const stack = await startStack({ fsync: 'always', productionClocks: true });
      const bwrap = await measureCommands(stack.client()).finally(() => stack.stop());
      await installation.upgrade([`sandboxes.warmPods=${WARM_PODS}`]);
      const warmSince = new Date();
      const settled = () => untilSettled(kubectl, 2 * WARM_PODS);
      const warm = { ...(await measureCommands(client, settled)), startsMs: await sandboxStarts(kubectl, warmSince) };
      await installation.upgrade();
      say(JSON.stringify({ pods, bwrap, warm }));

      expect([pods, warm].map(({ commandMs, startsMs }) => commandMs > 0 && startsMs.length > 0)).toEqual([true, true]);
    });

    test(
      'keeps every guarantee while the cluster is changed, broken and repaired',
      async () => {
        if (settings === undefined || scene === undefined) throw new Error('nothing is installed');
        const { violations, ...figures } = await runScenario({ settings, scene, say });
        say(JSON.stringify(figures));

        expect(violations).toEqual([]);
        expect(figures.terminal).toBe(figures.accepted);
        expect(figures.accepted).toBeGreaterThan(0);
      },
      SCENARIO_MS,
    );
  },
);

import { execFileSync } from 'node:child_process';
import { createPodNetwork, missingForPodNetworks, openNodeAddress } from './pod-network.js';

const missing = missingForPodNetworks();
if (missing !== null) console.warn(`skipped: networks of pods (${missing})`);

(missing === null ? describe : describe.skip)(createPodNetwork, () => {
  test('leaves a network alone whose number it would have had', async () => {
    openNodeAddress();
    const numbers = [41_001, 41_001, 41_002];
    const pick = (): number => numbers.shift() ?? 0;
    const first = await createPodNetwork('all', pick);
    const second = await createPodNetwork('all', pick);
    try {
      expect(second.address).not.toBe(first.address);
      const interfaces = execFileSync('ip', ['netns', 'exec', first.namespace, 'ip', '-o', 'addr', 'show', 'eth0']);
      expect(interfaces.toString()).toContain(first.address);
    } finally {
      await Promise.all([first.remove(), second.remove()]);
    }
  });
});

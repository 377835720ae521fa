import { type ChaosOptions, runChaos } from './run-chaos.js';

const number = (name: string, usual: number): number => Number(process.env[`CHAOS_${name}`] ?? usual);

const minutes = number('MINUTES', 0);
const seed = number('SEED', 2_718);
/** A short run by default; with the settings, `npm run chaos`. */
const isLong = minutes > 0;
const scale = number('SCALE', 2);
const each = number('EACH', 2);
const machines = number('MACHINES', 1);
const options: ChaosOptions = {
  seed,
  durationMs: isLong ? minutes * 60_000 : 25_000,
  quietMs: isLong ? 15_000 : 6_000,
  settleMs: 30_000 * scale,
  patienceMs: 60_000 * scale,
  meanPauseMs: number('PAUSE_MS', isLong ? 1_800 : 1_500),
  lanes: number('LANES', isLong ? 12 : 8),
  fleet: { gateway: each, 'agent-runner': each, 'sandbox-manager': each, 'subagent-pool': each, 'memory-worker': each },
  machines,
  say: (line) => void (isLong && process.stderr.write(`${line}\n`)),
};

jest.setTimeout(options.durationMs + 600_000);

describe('the whole product under work and faults of all kinds', () => {
  test(`keeps every guarantee (seed ${seed})`, async () => {
    const { violations, ...figures } = await runChaos(options);
    options.say(JSON.stringify(figures));
    expect(violations).toEqual([]);
    expect(figures.kills).toBeGreaterThan(0);
    expect(figures.terminal).toBe(figures.accepted);
    expect(figures.usage.entered).toBeGreaterThan(0);
    if (machines > 1) {
      expect(figures.storeKills).toBeGreaterThanOrEqual(2);
      expect(figures.files.storeFailures).toBeGreaterThan(0);
      expect(figures.files.readAtEnd).toBeGreaterThan(0);
    }
  });
});

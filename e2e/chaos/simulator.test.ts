import { execFile } from 'node:child_process';
import { join } from 'node:path';

interface Simulated {
  readonly failed: readonly number[];
  readonly digest: string;
  readonly kills: number;
  readonly takeovers: number;
  readonly killPoints: number;
}

/** The simulator as `npm run simulate` starts it, and its last line. */
async function simulated(
  ...args: readonly string[]
): Promise<{ readonly output: string; readonly summary: Simulated }> {
  const program = join(__dirname, '..', '..', 'dist', 'tools', 'simulator', 'main.js');
  const output = await new Promise<string>((resolve) => {
    const options = { timeout: 170_000, maxBuffer: 64 * 1024 * 1024 };
    execFile(process.execPath, [program, ...args], options, (_failure, stdout, stderr) => resolve(stdout + stderr));
  });
  const [, json] = /^simulated: (.*)$/m.exec(output) ?? [];
  if (json === undefined) throw new Error(`the simulator did not end:\n${output.slice(-4_000)}`);
  return { output, summary: JSON.parse(json) as Simulated };
}

describe('npm run simulate', () => {
  test('no history violates an invariant, and equal seeds give equal histories', async () => {
    const first = await simulated('--seeds', '40');
    const some = await simulated('--seeds', '6', '--seed', '5');
    const again = await simulated('--seeds', '6', '--seed', '5', '--workers', '1');

    if (first.summary.failed.length > 0) throw new Error(first.output);
    expect(again.summary.digest).toBe(some.summary.digest);
    expect(some.summary.digest).not.toBe(first.summary.digest);
    expect(first.summary.kills).toBeGreaterThan(10);
    expect(first.summary.takeovers).toBeGreaterThan(10);
    expect(first.summary.killPoints).toBeGreaterThan(40);
  }, 360_000);

  // A search begins a little before the first seed that found the fault when this was written; others may find it after a change.
  test.each([
    ['journal', 'kill', [32, 80], /the effect [0-9a-f-]{36} of a (command|call) happened 2 times/],
    ['memory', 'failover', [5, 100], /the effect [0-9a-f-]{36} of a command happened 2 times/],
    ['expiry', 'outage', [15, 40], /the effect [0-9a-f-]{36} of a (command|call) happened 2 times/],
    ['lease', 'jump', [2, 40], /was started [23] times, and nothing went wrong but the wall clock/],
    ['takeover', 'kill', [48, 200], /the run of a dead runner waited \d+ s for another one/],
    ['usage', 'kill', [50, 40], /the ledger of \w+ has \d+ model calls \(sum \d+\), committed were \d+/],
    ['slots', 'kill', [35, 40], /\d tasks of a user hold a slot, where \d may/],
    ['share', 'kill', [36, 80], /\d runs of a user are under way, where \d may/],
  ])(
    'the fault %s is found',
    async (sabotage, faults, [from, seeds], violation) => {
      const { output, summary } = await simulated(
        ...[
          '--seed',
          `${from}`,
          '--seeds',
          `${seeds}`,
          '--workers',
          '1',
          '--until-failure',
          '--faults',
          faults,
          '--sabotage',
          sabotage,
        ],
      );

      expect(output).toMatch(violation);
      expect(output).toContain(
        `npm run simulate -- --seed ${summary.failed[0]} --faults ${faults} --sabotage ${sabotage} --trace`,
      );
    },
    180_000,
  );
});

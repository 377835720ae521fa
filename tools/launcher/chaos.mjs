import { parseArgs } from 'node:util';
import { inRange, runLongTest, runWithUsage } from './long-test.mjs';
import { say } from './processes/terminal.mjs';

/** `npm run chaos`: builds the product and runs it under work and faults; docs/chaos.md. */

const usage = `npm run chaos -- [--seed N] [--minutes 5] [--each 2] [--lanes 12] [--pause-ms 1800] [--scale 2] [--machines 1]
Runs that many of each service, users on so many threads at once, and a fault every --pause-ms on average. The seed
determines what is done and which faults happen when. --scale stretches what the checker waits for. With --machines 2 the services
are spread over machines that share an object store, which fails and is killed. Ends with 1 on a violation.`;

/** @returns {Promise<number>} the exit code */
async function chaos() {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      minutes: { type: 'string', default: '5' },
      each: { type: 'string', default: '2' },
      lanes: { type: 'string', default: '12' },
      'pause-ms': { type: 'string', default: '1800' },
      scale: { type: 'string', default: '2' },
      machines: { type: 'string', default: '1' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    say(usage);
    return 0;
  }
  const minutes = inRange('minutes', values.minutes, 0.5, 24 * 60);
  const settings = {
    CHAOS_SEED: String(inRange('seed', values.seed, 0, 2 ** 32 - 1)),
    CHAOS_MINUTES: String(minutes),
    CHAOS_EACH: String(inRange('each', values.each, 1, 10)),
    CHAOS_LANES: String(inRange('lanes', values.lanes, 1, 200)),
    CHAOS_PAUSE_MS: String(inRange('pause-ms', values['pause-ms'], 100, 600_000)),
    CHAOS_MACHINES: String(inRange('machines', values.machines, 1, 10)),
    CHAOS_SCALE: String(inRange('scale', values.scale, 0.5, 20)),
  };
  const title = `chaos: seed ${settings.CHAOS_SEED}, ${minutes} minutes`;
  return await runLongTest({ title, path: 'e2e/chaos/chaos.test.ts', minutes, env: settings });
}

await runWithUsage(usage, chaos);

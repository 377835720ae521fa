import { parseArgs } from 'node:util';
import { inRange, runLongTest, runWithUsage } from './long-test.mjs';
import { say } from './processes/terminal.mjs';

/** `npm run outage`: crons, delayed runs and webhooks across a long outage; docs/crons.md. */

const usage = `npm run outage -- [--minutes 60]
Kills all gateways of four systems for so long, and Redis and NATS for a third or all of it, while crons are due each
minute, and compares what became of each due time with the rules of crons.catch_up. Ends with 1 where they differ.`;

/** Due times before and after the outage, besides the start and the checks. */
const workMinutes = 20;

/** @returns {Promise<number>} the exit code */
async function outage() {
  const { values } = parseArgs({
    options: { minutes: { type: 'string', default: '60' }, help: { type: 'boolean', default: false } },
  });
  if (values.help) {
    say(usage);
    return 0;
  }
  const minutes = inRange('minutes', values.minutes, 1, 3 * 60);
  return await runLongTest({
    title: `outage of ${minutes} minutes`,
    path: 'e2e/crons/catch-up.test.ts',
    minutes: minutes + workMinutes,
    env: { OUTAGE_MINUTES: String(minutes) },
  });
}

await runWithUsage(usage, outage);

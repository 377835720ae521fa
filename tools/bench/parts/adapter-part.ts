import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Part } from '../bench.js';
import { openProcessGroup } from '../process-group.js';
import { readyMessage } from '../processes.js';
import { type Budget, say } from '../report.js';
import { median } from '../sample.js';

const run = promisify(execFile);
const dist = resolve(__dirname, '../../..');

const ROUNDS = 7;
const PROBE_TIMEOUT_MS = 120_000;

/** What is read: the protocol of the model, and the path of the server's answer. */
const ANSWERS = [
  { what: 'chat completions, text', protocol: 'chat_completions', path: '/chat/text' },
  { what: 'chat completions, arguments', protocol: 'chat_completions', path: '/chat/arguments' },
  { what: "OpenAI's Responses, text", protocol: 'responses', path: '/responses/text' },
  { what: "Anthropic's messages, text", protocol: 'messages', path: '/messages/text' },
] as const;

/**
 * CPU per token of the model adapter, from the socket to the delta, in a process of its own.
 *
 * @param before folder of a built checkout of an earlier version, whose adapter takes turns with this one
 */
export const adapterCost =
  (before: string | undefined): Part =>
  async ({ times }) => {
    const group = await openProcessGroup();
    try {
      const server = await group.start({
        name: 'token server',
        command: [process.execPath, join(dist, 'tools/bench/adapter/token-server.js')],
        untilReady: readyMessage,
      });
      say();
      say('CPU per token of the model adapter, in microseconds, median of the rounds');
      const budgets: Budget[] = [];
      for (const answer of ANSWERS) {
        const url = `http://127.0.0.1:${server.port}${answer.path}`;
        const hadIt = before !== undefined && answer.protocol === 'chat_completions';
        const folders = hadIt ? [resolve(before, 'dist'), dist] : [dist];
        const micros = await rounds(folders, { url, protocol: answer.protocol, answers: times(100) });
        const [earlier, now = 0] = hadIt ? micros : [undefined, ...micros];
        say(
          `${answer.what.padEnd(32)} ${now.toFixed(2)}${earlier === undefined ? '' : `, before ${earlier.toFixed(2)}`}`,
        );
        if (earlier === undefined) continue;
        budgets.push({ what: `adapter, ${answer.what}`, value: now / earlier, unit: '× before', atMost: 1 });
      }
      return budgets;
    } finally {
      await group.stop();
    }
  };

interface Probe {
  readonly url: string;
  readonly protocol: string;
  readonly answers: number;
}

/** The median for each build; the builds take turns, so that other work on the machine meets all. */
async function rounds(folders: readonly string[], probe: Probe): Promise<readonly number[]> {
  const micros = folders.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, folder] of folders.entries()) micros[index]?.push(await measure(folder, probe));
  }
  return micros.map(median);
}

async function measure(folder: string, { url, protocol, answers }: Probe): Promise<number> {
  const library = join(folder, 'libs/models/src/index.js');
  const command = [join(dist, 'tools/bench/adapter/probe.js'), library, url, protocol, String(answers)];
  const { stdout } = await run(process.execPath, command, { timeout: PROBE_TIMEOUT_MS });
  return Number(stdout);
}

import { waitFor } from '@caribou/testing';
import { bash } from '../chaos/turns.js';
import { type ApiClient, runIdOf } from '../support/client.js';
import { componentLabel, RELEASE, SANDBOXES } from './installation.js';
import { isReady, type Kubectl } from './kubectl.js';

const RUN_MS = 5 * 60_000;
const CALLS = 40;
const ROUNDS = 5;
const ATTEMPTS = 3;
/** Longer than the drain of a manager. */
const SETTLED_MS = 3 * 60_000;

const median = (values: readonly number[]): number =>
  [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Takes a turn with so many commands that do nothing, and returns how long it took, in ms. @throws when one failed */
async function turnMs(client: ApiClient, threadId: string, calls: number): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const tookMs = await wholeTurnMs(client, threadId, calls);
    if (tookMs !== undefined) return tookMs;
    if (attempt === ATTEMPTS) throw new Error(`the connection to the gateway broke in ${ATTEMPTS} turns`);
  }
}

/** The same; undefined when the connection broke, as it does when the rules of a node's network are replaced: the run has ended then. */
async function wholeTurnMs(client: ApiClient, threadId: string, calls: number): Promise<number | undefined> {
  const word = `measure ${Math.random()}`;
  const script = [
    word,
    // Each is another one: equal calls would be refused after a few.
    ...Array.from({ length: calls }, (_, at) => bash(`echo fi""ne${at}`)),
    '#say Done.',
  ];
  const beganMs = performance.now();
  const stream = await client.run(threadId, script.join('\n'), { stream_mode: ['values'] });
  const frames = await stream.end(RUN_MS);
  const tookMs = performance.now() - beganMs;
  if (stream.broke) {
    await client.call('GET', `/threads/${threadId}/runs/${runIdOf(stream)}/join`);
    return undefined;
  }
  const last = JSON.stringify(frames.findLast(({ event }) => event === 'values')?.data ?? '');
  const fine = last.slice(last.indexOf(word)).split('"fine').length - 1;
  if (fine < calls) throw new Error(`${fine} of ${calls} commands were executed: ${last.slice(-1_000)}`);
  return tookMs;
}

export interface CommandFigures {
  /** From the request for a command to the next one, with the call of the model and the commit, in ms. */
  readonly commandMs: number;
  /** What the first command of a thread takes longer than the second one: a sandbox is made, and gets the skills. */
  readonly firstMs: number;
}

/** Medians of commands that do nothing; `untilQuiet` resolves when nothing else takes place, and is awaited before each new thread. */
export async function measureCommands(
  client: ApiClient,
  untilQuiet: () => Promise<unknown> = () => Promise.resolve(),
): Promise<CommandFigures> {
  const perCommand: number[] = [];
  const firsts: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await untilQuiet();
    const threadId = await client.newThread();
    const firstMs = await turnMs(client, threadId, 1);
    const secondMs = await turnMs(client, threadId, 1);
    firsts.push(firstMs - secondMs);
    perCommand.push(((await turnMs(client, threadId, CALLS + 1)) - secondMs) / CALLS);
  }
  return { commandMs: Number(median(perCommand).toFixed(1)), firstMs: Math.round(median(firsts)) };
}

/** Resolves when no pod of the release or of a sandbox starts or ends, and so many sandboxes are warm. @throws when that takes too long */
export function untilSettled(kubectl: Kubectl, warmPods: number): Promise<unknown> {
  const settled = async (): Promise<boolean> => {
    const pods = [...(await kubectl.pods(RELEASE.namespace, '')), ...(await kubectl.pods(SANDBOXES, ''))];
    const warm = await kubectl.pods(SANDBOXES, 'caribou.dev/warm=true');
    return pods.every(isReady) && warm.length === warmPods;
  };
  return waitFor(settled, {
    what: `no pod to start or end, and ${warmPods} warm ones`,
    timeoutMs: SETTLED_MS,
    everyMs: 1_000,
  });
}

/** How long managers took for each sandbox that they have got ready since then, from its request until it takes commands, in ms. */
export async function sandboxStarts(kubectl: Kubectl, since: Date): Promise<readonly number[]> {
  const which = ['-l', componentLabel('sandbox-manager'), '--tail=-1', `--since-time=${since.toISOString()}`];
  const lines = (await kubectl.run(['logs', '-n', RELEASE.namespace, ...which])).split('\n');
  return lines
    .filter((line) => line.includes('"event":"sandbox.ready"') && line.includes('"outcome":"ok"'))
    .map((line) => (JSON.parse(line) as { readonly durationMs: number }).durationMs)
    .sort((one, other) => one - other);
}

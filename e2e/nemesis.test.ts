import { randomUUID } from 'node:crypto';
import type { Message } from '@caribou/contracts';
import { type TestService, transcriptFaults, waitFor } from '@caribou/testing';
import { type ApiClient, type Frame, type OpenStream, runBody } from './client.js';
import { type AppName, clientOf, nonce, nth, type Stack, startStack } from './stack.js';
import { linesOf } from './threads-on-disk.js';

jest.setTimeout(240_000);

const THREADS = 10;
const TURNS = 4;
const KILLS = 9;
/** Threads follow each other until this many services were killed under them: how fast a start is must not matter. */
const LEAST_KILLS = 3;
const MOST_ROUNDS = 6;

/** A small seeded generator, so that a failure names the kills that led to it. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const seed = Number(process.env['NEMESIS_SEED'] ?? Date.now() % 1_000_000);
const random = randomFrom(seed);

let stack: Stack;

beforeAll(async () => {
  stack = await startStack({ gateways: 2, runners: 2, managers: 2, constantCallId: 'call_0' });
});

afterAll(() => stack.stop());

/** A gateway that is alive now; clients go on at another when theirs is killed. */
const anyGateway = (): ApiClient => clientOf(nth(stack.gateways, Math.floor(random() * stack.gateways.length)));

/** Repeats a request until a gateway answers it. */
const stubbornly = <T>(what: string, ask: (api: ApiClient) => Promise<T>): Promise<T> =>
  waitFor(async () => ({ answer: await ask(anyGateway()) }), { what, timeoutMs: 60_000, everyMs: 100 }).then(
    ({ answer }) => answer,
  );

interface Watched {
  readonly runId: string;
  readonly frames: readonly Frame[];
}

/** Accepts one turn and reads its stream to the end, over as many gateways as it takes. */
async function takeTurn(threadId: string, script: string): Promise<Watched> {
  const headers = { 'idempotency-key': nonce() };
  const { run_id: runId } = await stubbornly('the turn to be accepted', async (api) => {
    const { status, body } = await api.call<{ run_id: string }>(
      'POST',
      `/threads/${threadId}/runs`,
      runBody(script),
      headers,
    );
    if (status !== 200) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
    return body;
  });
  const frames: Frame[] = [];
  const path = `/threads/${threadId}/runs/${runId}/stream`;
  while (frames.at(-1)?.event !== 'end') {
    const lastId = frames.findLast((frame) => frame.id !== undefined)?.id ?? '-1';
    const stream = await stubbornly<OpenStream>('the stream to open', (api) =>
      api.stream('GET', path, undefined, { 'last-event-id': lastId }),
    );
    frames.push(...(await stream.end(120_000)));
  }
  return { runId, frames };
}

const SCRIPT = (word: string): string =>
  [
    word,
    `#say Working`,
    `#+tool bash ${JSON.stringify({ description: 'a test', command: `echo ${word.replace(' ', '-')} >> /mnt/user-data/workspace/ledger; sleep 0.7; echo ran` })}`,
    `#tool read_file ${JSON.stringify({ description: 'a test', path: '/mnt/user-data/workspace/notes' })}`,
    `#tool write_file ${JSON.stringify({ description: 'a test', path: '/mnt/user-data/workspace/notes', content: `${word}\n`, append: true })}`,
    '#tokens 20 40',
  ].join('\n');

/** Kills random services one after the other and starts each again. */
async function killAtRandom(killed: string[], done: () => boolean): Promise<void> {
  const kinds: readonly (readonly [AppName, TestService[]])[] = [
    ['agent-runner', stack.runners],
    ['agent-runner', stack.runners],
    ['gateway', stack.gateways],
    ['sandbox-manager', stack.managers],
  ];
  while (killed.length < KILLS && !done()) {
    const [app, services] = nth(kinds, Math.floor(random() * kinds.length));
    const index = Math.floor(random() * services.length);
    const replacement = await stack.start(app);
    await nth(services, index).kill9();
    services[index] = replacement;
    killed.push(app);
  }
}

interface Conversation {
  readonly threadId: string;
  readonly turns: readonly { readonly script: string; readonly watched: Watched }[];
}

/** A new thread with all its turns. */
async function conversation(): Promise<Conversation> {
  const threadId = randomUUID();
  await stubbornly('a thread', async (api) => {
    const { status } = await api.call('POST', '/threads', { thread_id: threadId, if_exists: 'do_nothing' });
    expect(status).toBe(200);
  });
  const turns: { readonly script: string; readonly watched: Watched }[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    const script = SCRIPT(nonce());
    turns.push({ script, watched: await takeTurn(threadId, script) });
  }
  return { threadId, turns };
}

describe('random kill -9 of runners, gateways and managers under load', () => {
  test(`every accepted turn ends, every message once, every side effect at most once (seed ${seed})`, async () => {
    let finished = false;
    const killed: string[] = [];
    const goesOn = (round: number) => round === 0 || (killed.length < LEAST_KILLS && round < MOST_ROUNDS);
    const threads: Conversation[] = [];
    const work = Promise.all(
      Array.from({ length: THREADS }, async () => {
        for (let round = 0; goesOn(round); round += 1) threads.push(await conversation());
      }),
    ).finally(() => {
      finished = true;
    });

    await Promise.all([work, killAtRandom(killed, () => finished)]);

    expect(killed.length).toBeGreaterThanOrEqual(LEAST_KILLS);
    for (const { threadId, turns } of threads) {
      const { body } = await stubbornly('the state', (api) =>
        api.call<{ values: { messages: Message[] } }>('GET', `/threads/${threadId}/state`),
      );
      const { messages } = body.values;
      expect(messages.filter((message) => message.type === 'human').map((message) => message.content)).toEqual(
        turns.map(({ script }) => script),
      );
      expect(messages.filter((message) => message.type === 'ai')).toHaveLength(TURNS * 4);
      expect(transcriptFaults(messages)).toEqual([]);
      expectEffects(
        threadId,
        turns.map(({ script }) => nth(script.split('\n'), 0)),
        messages,
      );
      for (const { watched } of turns) await expectStream(threadId, watched);
    }
  });
});

/** A success in the transcript stands for exactly one effect on disk, an unknown outcome for at most one. */
function expectEffects(threadId: string, words: readonly string[], messages: readonly Message[]): void {
  const results = messages.filter((message) => message.type === 'tool');
  expect(results).toHaveLength(words.length * 3);
  for (const [turn, word] of words.entries()) {
    const files = [
      {
        result: results[turn * 3],
        lines: linesOf(stack, threadId, 'ledger').filter((line) => line === word.replace(' ', '-')),
      },
      { result: results[turn * 3 + 2], lines: linesOf(stack, threadId, 'notes').filter((line) => line === word) },
    ];
    for (const { result, lines } of files) {
      if (result?.status === 'success') expect(lines).toHaveLength(1);
      else expect(lines.length).toBeLessThanOrEqual(1);
    }
  }
}

/** What was read in pieces is what the log replays as a whole, with one terminal event. */
async function expectStream(threadId: string, { runId, frames }: Watched): Promise<void> {
  const ids = frames.map((frame) => frame.id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(frames.filter((frame) => frame.event === 'end')).toHaveLength(1);
  const run = await stubbornly('the run', (api) =>
    api.call<{ status: string }>('GET', `/threads/${threadId}/runs/${runId}`),
  );
  expect(run.body.status).toBe('success');
}

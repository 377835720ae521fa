import { waitFor } from '@caribou/testing';
import { type ApiClient, lastValues, type WireMessage } from '../support/client.js';
import { type ReplayedModelName, replayedModels, type Replays, startReplays } from '../support/replayed-models.js';
import { nonce, type Stack, startStack } from '../support/stack.js';

jest.setTimeout(300_000);

const NAMES = Object.keys(replayedModels) as ReplayedModelName[];
const TURNS = 20;
const KILLED_TURN = 10;
/** The hold in the answer that is under way when the runners are killed. */
const HOLD = 'mid';

let replays: Replays;
let stack: Stack;
let client: ApiClient;

beforeAll(async () => {
  replays = await startReplays();
  stack = await startStack({ runners: 2, config: `${replays.config}quotas: {requests_per_second: 10000}\n` });
  client = stack.client();
});

afterAll(async () => {
  await stack.stop();
  await replays.stop();
});

afterEach(() => {
  for (const name of NAMES) replays.at(name).reset();
});

/** Thinking, text, a command, thinking and an answer; the last answer may be held. */
const scriptOf = (turn: number, hold = ''): string => `${nonce()}
#think let me look
#say Looking
#+tool bash {"description":"a test","command":"echo result-${turn}"}
${hold}#think so
#+say All done ${turn}`;

const use = (name: ReplayedModelName) => ({ context: { model_name: name, thinking_enabled: true } });

async function turnOf(threadId: string, name: ReplayedModelName, script: string): Promise<readonly WireMessage[]> {
  const stream = await client.run(threadId, script, use(name));
  const frames = await stream.end(60_000);
  const error = frames.find(({ event }) => event === 'error');
  if (error !== undefined) throw new Error(`${name}: ${JSON.stringify(error.data)} ${refusedBy(name)}`);
  return lastValues(frames);
}

const refusedBy = (name: ReplayedModelName): string => JSON.stringify(replays.at(name).refusals().slice(0, 2));

const shown = (messages: readonly WireMessage[]): string[] =>
  messages
    .filter(({ type, content }) => type === 'tool' || (type === 'ai' && content !== ''))
    .map(({ content }) => String(content).trim());

const turnsUpTo = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => [`Looking`, `result-${index + 1}`, `All done ${index + 1}`]).flat();

/** What the servers issued came back to them alone. */
function expectOwnExtras(): void {
  for (const name of NAMES) {
    const bodies = JSON.stringify(
      replays
        .at(name)
        .requests()
        .map(({ body }) => body),
    );
    for (const other of NAMES.filter((one) => one !== name)) {
      const leaked = replays
        .at(other)
        .extras()
        .filter(({ token }) => bodies.includes(token));
      expect([name, other, leaked]).toEqual([name, other, []]);
    }
  }
}

/** How many of the opaque values of a server were sent back to it. */
function returnedTo(name: ReplayedModelName): number {
  const replay = replays.at(name);
  const bodies = JSON.stringify(replay.requests().map(({ body }) => body));
  return replay.extras().filter(({ token }) => bodies.includes(token)).length;
}

test('a conversation of 20 turns with tools, whose runners are killed in the tenth, over each provider', async () => {
  const talks = await Promise.all(NAMES.map(async (name) => ({ name, threadId: await client.newThread() })));
  const talkTo = async (from: number, to: number): Promise<void> => {
    await Promise.all(
      talks.map(async ({ name, threadId }) => {
        for (let turn = from; turn <= to; turn += 1) await turnOf(threadId, name, scriptOf(turn));
      }),
    );
  };
  await talkTo(1, KILLED_TURN - 1);

  const held = talks.map(({ name, threadId }) =>
    turnOf(threadId, name, scriptOf(KILLED_TURN, `#hold ${HOLD} after 2\n`)),
  );
  await waitFor(() => Promise.resolve(NAMES.every((name) => replays.at(name).listHolds().length === 1)), {
    what: 'an answer of each provider to be under way',
    timeoutMs: 60_000,
  });
  await Promise.all(stack.runners.map((runner) => runner.kill9()));
  await Promise.all([stack.start('agent-runner'), stack.start('agent-runner')]);
  for (const name of NAMES) replays.at(name).release(HOLD);
  await Promise.all(held);

  await talkTo(KILLED_TURN + 1, TURNS);
  const transcripts = await Promise.all(
    talks.map(async ({ name, threadId }) => {
      const { body } = await client.call<{ values: { messages: WireMessage[] } }>('GET', `/threads/${threadId}/state`);
      return [name, shown(body.values.messages)] as const;
    }),
  );

  expect(Object.fromEntries(NAMES.map((name) => [name, replays.at(name).refusals()]))).toEqual(
    Object.fromEntries(NAMES.map((name) => [name, []])),
  );
  expect(Object.fromEntries(transcripts)).toEqual(Object.fromEntries(NAMES.map((name) => [name, turnsUpTo(TURNS)])));
  expectOwnExtras();
  for (const name of ['responses', 'anthropic', 'gemini'] as const) {
    expect([name, returnedTo(name) > TURNS]).toEqual([name, true]);
  }
});

test('a thread that moves from OpenAI to Gemini, Anthropic and back, and to each other provider', async () => {
  const threadId = await client.newThread();
  const route: ReplayedModelName[] = ['responses', 'gemini', 'anthropic', 'responses', 'openai', 'gemini', 'anthropic'];
  const stops = [...route, 'deepseek', 'kimi', 'minimax', 'vllm', 'ollama', 'openai', 'responses'] as const;

  for (const [index, name] of stops.entries()) await turnOf(threadId, name, scriptOf(index + 1));

  const { body } = await client.call<{ values: { messages: WireMessage[] } }>('GET', `/threads/${threadId}/state`);
  expect(NAMES.flatMap((name) => replays.at(name).refusals())).toEqual([]);
  expect(shown(body.values.messages)).toEqual(turnsUpTo(stops.length));
  expectOwnExtras();
});

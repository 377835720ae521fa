import { Secret } from '@caribou/config';
import type { Message } from '@caribou/contracts';
import type { ModelCall, ModelDelta, ModelPort } from '@caribou/core';
import { startProviderReplay } from '../../../../tools/provider-replay/framework/server.js';
import { responses } from '../../../../tools/provider-replay/vendors/responses/vendor.js';
import { KEY, modelAt, never, read } from '../testing/scripted-provider.js';
import { storedAnswer } from '../testing/stored-answer.js';

const tools: ModelCall['tools'] = [
  { name: 'bash', description: 'runs a command', parameters: { type: 'object', properties: {} } },
];
const common = { additional_kwargs: {}, response_metadata: {} };
const human = (id: string, content: string): Message => ({ type: 'human', id, content, ...common });

/** A turn of three steps with reasoning, a commentary and parallel calls, of which two have arguments spelled with spaces. */
const SCRIPT = `#think Let me look — 🔍
#say Looking
#+tool bash {"command": "ls"}
#+tool bash {"command":"pwd"}
#think so
#+tool bash {"command": "cat ünïcode"}
#say All done: 日本語`;

async function replayed(run: (model: ModelPort, replay: Replay) => Promise<void>): Promise<void> {
  const replay = await startProviderReplay({ vendor: responses, apiKey: KEY, cutSeed: 7 });
  const config = {
    apiKey: new Secret(KEY),
    protocol: 'responses',
    model: 'gpt-5.6',
    supportsThinking: true,
    body: { reasoning: { effort: 'low', summary: 'auto' } },
  } as const;
  try {
    await run(modelAt(replay.baseUrl, {}, config), replay);
  } finally {
    await replay.close();
  }
}
type Replay = Awaited<ReturnType<typeof startProviderReplay>>;

/** Asks until an answer has no calls, and returns its deltas; `messages` grows as a thread does. */
async function turn(model: ModelPort, messages: Message[]): Promise<readonly ModelDelta[]> {
  for (;;) {
    const deltas = await read(model.stream({ system: 'be kind', messages, tools }, { userId: 'alice', signal: never }));
    const stored = storedAnswer(deltas, { ...model.endpoint, dialect: model.dialect });
    const at = messages.length;
    const answer = JSON.parse(JSON.stringify(stored).replaceAll('"call-', `"call-${at}-`)) as typeof stored;
    messages.push(answer);
    if (answer.tool_calls.length === 0) return deltas;
    for (const { id } of answer.tool_calls)
      messages.push({ type: 'tool', id, tool_call_id: id, name: 'bash', status: 'success', content: 'out', ...common });
  }
}

/** Number of reasoning items in a request. */
const reasoningIn = (body: unknown): number => JSON.stringify(body).match(/"type":"reasoning"/g)?.length ?? 0;

test('a server that checks as OpenAI does accepts a conversation with reasoning and calls, and sees all of it', async () => {
  await replayed(async (model, replay) => {
    const messages = [human('h1', SCRIPT)];
    const deltas = await turn(model, messages);
    expect(deltas.map(({ content = '' }) => content).join('')).toBe('All done: 日本語');
    messages.push(human('h2', '#think once more\n#say Bye'));
    await turn(model, messages);

    expect(replay.refusals()).toEqual([]);
    expect(replay.ignored()).toEqual([]);
    const requests = replay.requests();
    expect(requests.map(({ body }) => reasoningIn(body))).toEqual([0, 1, 2, 2]);
  });
});

test('and of a history whose answers were edited, cut, or made by another model', async () => {
  await replayed(async (model, replay) => {
    const messages = [human('h1', SCRIPT)];
    await turn(model, messages);
    const edited = messages.map((message): Message => {
      if (message.type !== 'ai' || message.tool_calls.length > 1) return message;
      return message.tool_calls.length === 0
        ? { ...message, content: 'Done.' }
        : { ...message, provider_extras: { provider: 'other/v1', model: 'm', dialect: 'openai' } };
    });
    await turn(model, [...edited, human('h2', '#say Bye')]);
    expect(replay.refusals()).toEqual([]);
    expect(reasoningIn(replay.requests().at(-1)?.body)).toBe(1);
  });
});

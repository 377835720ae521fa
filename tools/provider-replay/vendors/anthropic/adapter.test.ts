import { type AiMessage, type Message, ModelError } from '@caribou/contracts';
import { type ModelPort, withFittingExtras } from '@caribou/core';
import { temporaryFolder } from '@caribou/testing';
import type { ProviderReplay } from '../../framework/replay.js';
import { startProviderReplay } from '../../framework/server.js';
import { ask, human, modelOfEntry, runTurn, withResults } from '../../testing/adapted-turns.js';
import { anthropic } from './vendor.js';

const KEY = 'sk-ant-1';
const folder = temporaryFolder();
let replay: ProviderReplay;

beforeAll(async () => {
  replay = await startProviderReplay({ vendor: anthropic, apiKey: KEY, cutSeed: 7 });
});

afterEach(() => {
  expect(replay.refusals()).toEqual([]);
  expect(replay.ignored()).toEqual([]);
  replay.reset();
});

afterAll(() => replay.close());

const on = { thinkingEnabled: true };
const off = { thinkingEnabled: false };

/** A configuration with options that not every model accepts. */
const portOf = (model: string): ModelPort =>
  modelOfEntry(folder, {
    protocol: 'messages',
    model,
    api_key: KEY,
    base_url: replay.baseUrl,
    supports_thinking: true,
    supports_reasoning_effort: true,
    temperature: 0.3,
    top_k: 5,
    effort: 'xhigh',
  });

const script = (nonce: string): string => `nonce ${nonce}
#think let me look at it
#+say Looking
#+tool bash {"command":"ls"}
#+tool read_file {"path":"a"}
#+tool bash {"command":"id"}
#think [redacted] and again
#+tool bash {"command":"pwd"}
#tool bash {"command":"true"}
#say almost
#+badargs bash {"command":
#think so that is it
#+say All done`;

const models = [
  ...['claude-haiku-4-5', 'claude-sonnet-4-5', 'claude-opus-4-5', 'claude-sonnet-4-6', 'claude-opus-4-6'],
  ...['claude-opus-4-7', 'claude-opus-4-8', 'claude-sonnet-5', 'claude-opus-5', 'claude-fable-5', 'claude-mythos-5'],
  ...['claude-fable-5-1', 'claude-fable-5-2', 'claude-mythos-5-2'],
  ...['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5'],
];

const answersOf = (messages: readonly Message[]): AiMessage[] =>
  messages.filter((message): message is AiMessage => message.type === 'ai');

function cacheReadOf({ usage_metadata: usage }: AiMessage): number {
  const details = usage?.['input_token_details'] as { readonly cache_read?: number } | undefined;
  return details?.cache_read ?? 0;
}

describe('the adapter at a strict server', () => {
  test.each(models)('%s: turns with and without thinking are accepted, cached and counted', async (model) => {
    const port = portOf(model);
    const first = await runTurn(port, [human('Today is Wednesday.', 'c')], script('one'), on);
    const second = await runTurn(port, first, script('two'), on);
    await runTurn(port, second, script('three'), off);

    const answers = answersOf(second);
    expect(answers).toHaveLength(10);
    expect(answers[0]).toMatchObject({
      content: 'Looking',
      additional_kwargs: { reasoning_content: 'let me look at it' },
    });
    expect(answers.slice(1).every((answer) => cacheReadOf(answer) > 9_000)).toBe(true);
    expect(answers.some(({ response_metadata: { thinking_dropped: dropped } }) => dropped !== undefined)).toBe(false);
    const { answers: count = 0, input = 0, cachedInput = 0 } = replay.usage()[model] ?? {};
    expect(count).toBe(15);
    expect(cachedInput / input).toBeGreaterThan(0.9);
    const counted = answers.reduce((sum, { usage_metadata: usage }) => sum + (usage?.input_tokens ?? 0), 0);
    expect(counted).toBeLessThan(input);
  });

  test('the model may be another one at each step of a turn', async () => {
    const ports = ['claude-opus-5-5', 'claude-sonnet-4-5', 'claude-fable-5-1', 'claude-sonnet-4-6'].map(portOf);
    const messages: Message[] = [human(script('switch'), 'h0')];
    for (let step = 0; step < 5; step += 1) {
      const port = ports[step % ports.length];
      if (port !== undefined) messages.push(...withResults(await ask(port, messages, on), step));
    }
    expect(answersOf(messages).at(-1)?.content).toBe('All done');
  });

  test.each(['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-sonnet-4-5'])(
    '%s: thoughts behind a summary, an edited answer and an image that was shown once',
    async (model) => {
      const port = portOf(model);
      const first = await runTurn(port, [], script('first'), on);
      const summarized = await runTurn(port, [human('Summary: work.', 's'), ...first.slice(7)], script('after'), on);
      const edited = summarized.map((message) =>
        message.type === 'ai' && message.content === 'All done'
          ? withFittingExtras(message, { ...message, content: 'Edited' })
          : message,
      );
      const later = await runTurn(port, edited, script('edited'), on);
      const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
      const shown = await ask(port, [...later, human([{ type: 'text', text: 'an image' }, image], 'i')], on);
      await runTurn(port, [...later, shown], script('image'), on);
      await runTurn(port, [...later, shown], script('off'), off);
    },
  );

  test.each([
    ['#fault rate-limit 2', 'rate_limited', { retryAfterMs: 2_000 }],
    ['#fault quota', 'quota', {}],
    ['#fault overload', 'server', { providerStatus: 529 }],
    ['#say half\n#+fault overload', 'server', { providerStatus: 529 }],
    ['#fault wrong-key', 'auth', {}],
    ['#fault model-gone', 'not_found', {}],
    ['#fault context-overflow', 'context_length', {}],
    ['#say half\n#+fault malformed', 'malformed', {}],
    ['#say half\n#+cut 1 reset', 'stream_cut', {}],
  ])('the failure of %j is %s', async (fault, reason, details) => {
    const failing = ask(portOf('claude-opus-5-5'), [human(fault, 'h')], on);
    const error: unknown = await failing.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({ details: { reason, ...details } });
  });

  test.each([
    ['#say No.\n#+fault refusal', 'content_filter'],
    ['#say wait\n#+fault stop pause_turn', 'length'],
    ['#say full\n#+fault stop model_context_window_exceeded', 'length'],
    ['#badargs bash {"command":"ec\n#+length', 'length'],
    ['#say', 'stop'],
    ['#think only', 'stop'],
  ])('the answer of %j ends with %s, and the conversation goes on', async (ending, finish) => {
    const port = portOf('claude-opus-5-5');
    const question = human(ending, 'h');
    const given = await ask(port, [question], on);
    expect(given.response_metadata['finish_reason']).toBe(finish);
    // The chain gives answers without text and calls a note.
    const isEmpty = given.content === '' && given.invalid_tool_calls.length === 0;
    const answer = isEmpty ? withFittingExtras(given, { ...given, content: 'Note.' }) : given;
    const next = await runTurn(port, [question, ...withResults(answer, 0)], script('next'), on);
    expect(answersOf(next).at(-1)?.content).toBe('All done');
  });
});

import type { ModelCall } from '@caribou/core';
import {
  answerOf,
  chunk,
  configOf,
  type DialectName,
  foreignAnswer,
  human,
  resultOf,
  sent,
} from '../../testing/transcript.js';
import { buildRequest } from '../build-request.js';
import { dialects } from './dialects.js';

const names = Object.keys(dialects) as DialectName[];
const request = (dialect: DialectName, call: Partial<ModelCall> = {}, changed = {}) =>
  buildRequest(configOf(dialect, changed), { system: 's', messages: [human('hi', 'note')], tools: [], ...call });

describe('the limit of an answer', () => {
  test('has the name that the provider accepts', () => {
    const renamed = names.filter((name) => 'max_completion_tokens' in request(name, { maxTokens: 9 }));
    expect(renamed).toEqual(['openai', 'azure', 'bedrock']);
    for (const name of names.filter((other) => !renamed.includes(other)))
      expect(request(name, { maxTokens: 9 })).toMatchObject({ max_tokens: 9 });
  });

  test('has the other name when extra_body does', () => {
    const body = { max_completion_tokens: 100 };
    expect(request('openrouter', { maxTokens: 9 }, { body, maxTokens: 50 })).toMatchObject({
      max_completion_tokens: 9,
    });
    expect(request('openrouter', { maxTokens: 9 }, { body })).not.toHaveProperty('max_tokens');
    expect(request('azure', {}, { body: { max_tokens: 100 } })).not.toHaveProperty('max_completion_tokens');
  });
});

describe('a request', () => {
  test('has stream_options where they are known, and those of extra_body', () => {
    const without = names.filter((name) => !('stream_options' in request(name)));
    expect(without).toEqual(['mistral']);
    expect(request('generic', {}, { body: { stream_options: null } })).not.toHaveProperty('stream_options');
    expect(request('generic', {}, { body: { stream_options: { x: 1 } } })).toMatchObject({ stream_options: { x: 1 } });
  });

  test('has names of users where they are known', () => {
    const without = names.filter((name) => !JSON.stringify(request(name).messages).includes('"name"'));
    expect(without).toEqual(['bedrock', 'gemini', 'minimax', 'mistral']);
  });

  test('asks MiniMax to split reasoning off, unless extra_body says otherwise, and for no JSON mode', () => {
    expect(request('minimax', { answerFormat: 'json' })).toMatchObject({ reasoning_split: true });
    expect(request('minimax', { answerFormat: 'json' })).not.toHaveProperty('response_format');
    expect(request('minimax', {}, { body: { reasoning_split: false } })).toMatchObject({ reasoning_split: false });
    expect(request('generic')).not.toHaveProperty('reasoning_split');
  });
});

describe('thinking of Gemini', () => {
  const block = (config: object) => ({ extra_body: { extra_body: { google: { thinking_config: config } } } });
  const whenThinkingEnabled = block({ include_thoughts: true, thinking_budget: 99 });

  test('is in the body of the body, without reasoning_effort', () => {
    const call = { thinkingEnabled: true, reasoningEffort: 'low' };
    const on = request('gemini', call, { whenThinkingEnabled });
    expect(on).toMatchObject(whenThinkingEnabled.extra_body);
    expect(on).not.toHaveProperty('reasoning_effort');
    expect(request('gemini', call)).toMatchObject({ reasoning_effort: 'low' });
  });

  test('is switched off where it can be, else hidden', () => {
    const off = (model: string) => request('gemini', {}, { model, whenThinkingEnabled })['extra_body'];
    expect(off('gemini-2.5-flash')).toEqual({
      google: { thinking_config: { include_thoughts: false, thinking_budget: 0 } },
    });
    expect(off('gemini-3-pro')).toEqual({ google: { thinking_config: { include_thoughts: false } } });
  });
});

test.each(['openrouter', 'ollama'] as const)('thinking of %s is switched off by its effort', (dialect) => {
  const whenThinkingEnabled = { extra_body: { reasoning: { enabled: true } } };
  expect(request(dialect, {}, { whenThinkingEnabled })).toMatchObject({ reasoning: { effort: 'none' } });
  expect(request(dialect, {}, { whenThinkingEnabled: { reasoning: { effort: 'high' } } })).toMatchObject({
    reasoning: { effort: 'none' },
  });
});

describe('a conversation', () => {
  /** An answer as each dialect gives it, with everything that is to be sent back to it. */
  const answered = names.map((name) =>
    answerOf(configOf(name), [
      chunk({
        reasoning_content: 'secret thought',
        reasoning_details: [{ type: 'reasoning.encrypted', data: 'opaque' }],
        extra_content: { google: { thought_signature: 'opaque' } },
        content: name === 'mistral' ? [{ type: 'thinking', thinking: 'opaque' }] : 'yes',
      }),
      chunk(
        {
          tool_calls: [
            {
              id: 'x',
              function: { name: 'bash', arguments: '{}' },
              extra_content: { google: { thought_signature: 'opaque' } },
            },
          ],
        },
        'tool_calls',
      ),
    ]),
  );
  const conversation = answered.flatMap((answer) => [answer, resultOf(answer.tool_calls[0]?.id)]);

  test.each(names)('that began elsewhere is sent to %s without the extras of others', (name) => {
    const config = configOf(name, { baseUrl: 'https://new.example/v1' });
    const text = JSON.stringify(
      sent(config, [human('hi'), ...conversation, foreignAnswer(), resultOf('functions.bash:0')]),
    );
    expect(text).not.toContain('opaque');
    expect(text).not.toContain('provider_extras');
  });

  test.each(names)('has the id of each call at its result, as %s accepts it', (name) => {
    const long = 'x'.repeat(64);
    const ids = [long, `${long}y`, 'functions.bash:0', 'call_1', 'a b', 'ü'];
    const messages = sent(
      configOf(name),
      ids.flatMap((id) => [foreignAnswer(id), resultOf(id)]),
    );
    const calls = messages.flatMap((message) => (message['tool_calls'] ?? []) as { id: string }[]);
    const given = calls.map(({ id }) => id);
    expect(messages.flatMap((message) => message['tool_call_id'] ?? [])).toEqual(given);
    expect(new Set(given).size).toBe(ids.length);
    for (const id of given) expect(id).toMatch(name === 'mistral' ? /^[a-zA-Z0-9]{9}$/ : /^[\w-]{1,40}$/);
  });
});

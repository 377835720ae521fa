import type { ModelConfig } from '@caribou/config';
import { InvalidRequestError, type Message } from '@caribou/contracts';
import type { ModelCall } from '@caribou/core';
import { answer, claude, extrasOf, human, requestOf, result, toolCall } from '../testing/claude.js';
import { encodeRequest } from './encode-request.js';

const fields = (model: ModelConfig, call: Partial<ModelCall> = {}): Record<string, unknown> => {
  const {
    messages: _messages,
    system: _system,
    model: _model,
    stream: _stream,
    ...rest
  } = requestOf(model, {
    messages: [human('hi')],
    ...call,
  });
  return rest;
};
const on = { thinkingEnabled: true };
const off = { thinkingEnabled: false };

describe('thinking', () => {
  test('is adaptive where the model decides, with summaries and without stale thoughts where they are the exception', () => {
    expect(fields(claude('claude-sonnet-4-6'), on)['thinking']).toEqual({ type: 'adaptive' });
    expect(fields(claude('claude-opus-4-8'), on)['thinking']).toEqual({ type: 'adaptive', display: 'summarized' });
    expect(fields(claude('claude-opus-5-5'), on)['thinking']).toEqual({
      type: 'adaptive',
      display: 'summarized',
      block_binding: { prefix_mismatch_behavior: 'drop_block' },
    });
    const omitted = {
      whenThinkingEnabled: { thinking: { type: 'enabled', budget_tokens: 9_000, display: 'omitted' } },
    };
    expect(fields(claude('claude-opus-5', {}, omitted), on)['thinking']).toEqual({
      type: 'adaptive',
      display: 'omitted',
    });
  });

  test('has a budget below the limit of the answer for older models', () => {
    const old = (extra: Partial<ModelConfig> = {}, options = {}) => claude('claude-sonnet-4-5', options, extra);
    const budgetOf = (model: ModelConfig, call: Partial<ModelCall> = on) => fields(model, call)['thinking'];
    const budget = (tokens: number) => ({ type: 'enabled', budget_tokens: tokens });
    expect(budgetOf(old())).toEqual(budget(25_600));
    expect(budgetOf(old({ maxTokens: 10_000 }))).toEqual(budget(8_000));
    expect(budgetOf(old({}, { thinkingBudgetTokens: 4_096 }))).toEqual(budget(4_096));
    const configured = { whenThinkingEnabled: { thinking: { type: 'enabled', budget_tokens: 20_000 } } };
    expect(budgetOf(old(configured))).toEqual(budget(20_000));
    expect(budgetOf(old(configured), { ...on, maxTokens: 5_000 })).toEqual(budget(4_999));
    expect(budgetOf(old(configured), { ...on, maxTokens: 1_024 })).toBeUndefined();
  });

  test.each([
    ['claude-sonnet-4-5', undefined],
    ['claude-opus-4-8', undefined],
    ['claude-opus-5', { type: 'disabled' }],
    ['claude-haiku-5-5', { type: 'disabled' }],
    ['claude-sonnet-5-5', { type: 'between_tools' }],
    ['claude-fable-5', { type: 'adaptive' }],
    ['claude-opus-5-5', { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } }],
  ])('of %s is switched off by %j', (model, thinking) => {
    expect(fields(claude(model), off)['thinking']).toEqual(thinking);
    const effort = model.endsWith('opus-5-5') || model.endsWith('fable-5') ? { effort: 'low' } : undefined;
    expect(fields(claude(model), off)['output_config']).toEqual(effort);
  });

  test('of other vendors is switched off where it can be switched on', () => {
    expect(fields(claude('kimi-k2.5'), off)['thinking']).toEqual({ type: 'disabled' });
    expect(fields(claude('kimi-k2.5', {}, { supportsThinking: false }), off)['thinking']).toBeUndefined();
  });

  test('is what the configuration says while it is off, and refused where it is not supported', () => {
    const model = claude(
      'claude-opus-5',
      {},
      { whenThinkingDisabled: { thinking: { type: 'adaptive' }, effort: 'low' } },
    );
    expect(fields(model, off)).toMatchObject({ thinking: { type: 'adaptive' }, output_config: { effort: 'low' } });
    const nested = { whenThinkingEnabled: { extra_body: { thinking: { type: 'adaptive', display: 'omitted' } } } };
    expect(fields(claude('claude-opus-5', {}, nested), on)).toEqual({
      max_tokens: 64_000,
      thinking: { type: 'adaptive', display: 'omitted' },
    });
    const never = claude('claude-opus-5', {}, { supportsThinking: false, whenThinkingEnabled: { thinking: {} } });
    expect(() => fields(never, on)).toThrow(
      new InvalidRequestError('model "claude" does not support thinking: set supports_thinking in its configuration'),
    );
  });

  test('with a budget is left out while an answer is continued that began without thoughts', () => {
    const sonnet = claude('claude-sonnet-4-5');
    const thought = { type: 'thinking', thinking: 'hm', signature: 's' };
    const asks = (id: string, parts?: unknown[]) =>
      answer('', { tool_calls: [toolCall(id)], ...(parts ? { provider_extras: extrasOf(sonnet, { parts }) } : {}) });
    const thinkingFor = (messages: Message[], model = sonnet) => requestOf(model, { messages, ...on }).thinking?.type;
    const plain = [human('a'), asks('call_1'), result('call_1', 'r')];
    expect(thinkingFor(plain)).toBeUndefined();
    expect(
      thinkingFor([...plain, asks('call_2', [thought, { call: 'call_2' }]), result('call_2', 'r')]),
    ).toBeUndefined();
    expect(thinkingFor(plain, claude('claude-opus-5-5'))).toBe('adaptive');
    expect(thinkingFor([...plain, answer('b'), human('c')])).toBe('enabled');
    const thoughtful = [human('a'), asks('call_1', [thought, { call: 'call_1' }]), result('call_1', 'r')];
    expect(thinkingFor([...thoughtful, human('hint'), asks('call_2'), result('call_2', 'r')])).toBe('enabled');
  });
});

describe('effort', () => {
  const effort = (model: ModelConfig, call: Partial<ModelCall>) => fields(model, call)['output_config'];

  test.each([
    ['claude-opus-5', 'xhigh', on, 'xhigh'],
    ['claude-opus-5', 'xhigh', off, 'high'],
    ['claude-opus-5', 'minimal', on, 'low'],
    ['claude-sonnet-4-6', 'xhigh', on, 'high'],
    ['claude-opus-4-5', 'max', on, 'high'],
  ])('of %s: %s with %j is %s', (model, wanted, thinks, sent) => {
    expect(effort(claude(model), { ...thinks, reasoningEffort: wanted })).toEqual({ effort: sent });
  });

  test('is not sent where the model refuses it, and an unknown level is refused by its name', () => {
    expect(effort(claude('claude-sonnet-4-5'), { reasoningEffort: 'high' })).toBeUndefined();
    const fixed = claude(
      'claude-opus-5',
      {},
      { supportsReasoningEffort: false, body: { effort: 'medium', output_config: { format: 1 } } },
    );
    expect(effort(fixed, { ...on, reasoningEffort: 'high' })).toEqual({ format: 1, effort: 'medium' });
    expect(() => effort(claude('claude-opus-5'), { reasoningEffort: 'extreme' })).toThrow(
      /reasoning_effort: must be one of minimal, low/,
    );
  });
});

describe('fields of the request', () => {
  test('max_tokens is always there: that of the call, of the configuration, or the default of the model', () => {
    const limited = claude('claude-opus-5', {}, { maxTokens: 5_000 });
    const limits = [
      fields(claude('claude-opus-5')),
      fields(limited),
      fields(limited, { maxTokens: 99 }),
      fields(limited, { maxTokens: 9_000 }),
    ];
    expect(limits.map(({ max_tokens: limit }) => limit)).toEqual([64_000, 5_000, 99, 5_000]);
    expect(fields(claude('x', {}, { body: { max_tokens: 7, top_k: 4 } }))).toEqual({
      max_tokens: 7,
      top_k: 4,
      thinking: { type: 'disabled' },
    });
  });

  test('sampling parameters go to models that take them, while they do not think, and one of them at a time', () => {
    const extra = { temperature: 0.5, body: { top_p: 0.9, top_k: 3, stop_sequences: ['END'] } };
    expect(fields(claude('claude-sonnet-4-5', {}, extra))).toMatchObject({
      temperature: 0.5,
      top_k: 3,
      stop_sequences: ['END'],
    });
    expect(fields(claude('claude-sonnet-4-5', {}, extra))).not.toHaveProperty('top_p');
    for (const sent of [
      fields(claude('claude-sonnet-4-5', {}, extra), on),
      fields(claude('claude-opus-4-7', {}, extra)),
    ])
      expect(Object.keys(sent)).toEqual(expect.not.arrayContaining(['temperature', 'top_k', 'top_p']));
    expect(fields(claude('claude-opus-4-7', { sampling: true }), { temperature: 0 })).toMatchObject({ temperature: 0 });
  });

  test('fields of the client class do not reach the body', () => {
    const body = { betas: ['b'], reasoning_effort: 'low', tools: [1], system: 'x', metadata: { user_id: 'u' } };
    const sent = requestOf(claude('claude-sonnet-4-5', {}, { body }), { messages: [human('a')] });
    expect(sent).toMatchObject({ metadata: { user_id: 'u' }, system: [{ text: 'be kind' }] });
    expect(Object.keys(sent)).toEqual(
      expect.not.arrayContaining(['betas', 'reasoning_effort', 'tools', 'output_config']),
    );
  });

  test('a call without tools defines those of the conversation, which it may not call', () => {
    const messages = [
      human('a'),
      answer('', { tool_calls: [toolCall('call_1'), toolCall('call_2')] }),
      result('call_1', 'r'),
    ];
    expect(fields(claude('claude-sonnet-4-5'), { messages })).toMatchObject({
      tools: [{ name: 'bash', input_schema: { type: 'object' } }],
      tool_choice: { type: 'none' },
    });
    const tools = [{ name: 'bash', description: 'd', parameters: { properties: {} } }];
    expect(fields(claude('claude-sonnet-4-5'), { tools, toolChoice: 'none' })).toMatchObject({
      tools: [{ name: 'bash', description: 'd', input_schema: { type: 'object', properties: {} } }],
      tool_choice: { type: 'none' },
    });
  });
});

describe('encodeRequest', () => {
  test('writes the prefix in the order of the provider, the mark of the last tool, and blocks as they came', () => {
    const model = claude('claude-opus-5-5', { cacheTtl: '1h' });
    const tools = ['a', 'b'].map((name) => ({ name, description: name, parameters: {} }));
    const request = requestOf(model, { messages: [human('hi')], tools });
    const mark = { type: 'ephemeral', ttl: '1h' } as const;
    const server = { type: 'server_tool_use', id: 'srvtoolu_1' };
    const withBlock = {
      ...request,
      messages: [{ role: 'assistant' as const, content: [{ type: 'opaque' as const, block: server }] }],
    };
    const json = encodeRequest(withBlock, mark).toString();
    expect(JSON.parse(json)).toEqual({
      ...request,
      tools: [request.tools?.[0], { ...request.tools?.[1], cache_control: mark }],
      messages: [{ role: 'assistant', content: [server] }],
    });
    expect(Object.keys(JSON.parse(json) as object).slice(-3)).toEqual(['tools', 'system', 'messages']);
    expect(JSON.parse(encodeRequest(request, undefined).toString())).toEqual(request);
  });
});

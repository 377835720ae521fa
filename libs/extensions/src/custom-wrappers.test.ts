import { type AiMessage, ModelError, type ToolCall } from '@caribou/contracts';
import type { ModelRequest, ToolCallRequest } from '@caribou/core';
import { fakeRun } from '@caribou/testing';
import { answer, createProbe, type ProbeHooks, state } from './testing/probe-middleware.js';

describe('wrapModelCall of a custom middleware', () => {
  const tool = { name: 'ls', description: 'd', parameters: {}, invoke: () => Promise.resolve({ content: '' }) };
  const request: ModelRequest = { model: 'm', system: 's', messages: state.messages, tools: [tool], state };
  const sent: ModelRequest[] = [];
  const next = (asked: ModelRequest): Promise<AiMessage> => (sent.push(asked), Promise.resolve(answer()));
  const wrapped = (wrap: NonNullable<ProbeHooks['wrapModelCall']>, further = next) =>
    createProbe({ wrapModelCall: wrap }).wrapModelCall?.(request, further, fakeRun());
  beforeEach(() => sent.splice(0));

  test('without a change request and answer are passed on unchanged', async () => {
    const given = answer();

    expect(
      await wrapped(
        (_request, go) => go(),
        (asked) => (sent.push(asked), Promise.resolve(given)),
      ),
    ).toBe(given);
    expect(sent[0]).toBe(request);
  });

  test('system, messages, tools and the choice of tools may be changed, the rest not', async () => {
    await wrapped((asked, go) =>
      go({
        ...asked,
        model: 'other',
        system: 'changed',
        tools: [],
        toolChoice: 'none',
        state: { messages: [] },
        messages: [...asked.messages, { type: 'human', content: 'more' }],
      }),
    );

    expect(sent[0]).toMatchObject({ model: 'm', system: 'changed', tools: [], toolChoice: 'none' });
    expect(sent[0]?.state).toBe(state);
    expect(sent[0]?.messages[0]).toBe(state.messages[0]);
    expect(sent[0]?.messages[1]).toMatchObject({ type: 'human', content: 'more', additional_kwargs: {} });
  });

  test('an answer of its own is completed', async () => {
    expect(await wrapped(() => ({ type: 'ai', content: 'from memory' }))).toEqual(
      answer({ id: expect.any(String), content: 'from memory' }),
    );
    expect(sent).toEqual([]);
  });

  test.each<[string, NonNullable<ProbeHooks['wrapModelCall']>, RegExp]>([
    ['a tool that is not there', (asked, go) => go({ ...asked, tools: [{ ...tool, name: 'rm' }] }), /no tool 'rm'/],
    ['an invalid system text', (asked, go) => go({ ...asked, system: 7 as never }), /the request: system: /],
    ['a broken message', (asked, go) => go({ ...asked, messages: [{ type: 'tool' }] }), /a message: content: /],
    ['no answer', () => undefined as never, /a message: /],
    ['an answer of a person', () => ({ type: 'human', content: 'x' }), /of type human; it must be ai/],
    ['an answer before the one it asked for', (_asked, go) => (void go(), answer()), /before its next\(\) had settled/],
  ])('%s is an error that says so', async (_what, wrap, message) => {
    await expect(wrapped(wrap)).rejects.toThrow(message);
  });

  test("the model's failure passes as it is, so that it is tried again", async () => {
    const failure = new ModelError('busy', { retryable: true });

    await expect(
      wrapped(
        (_asked, go) => go(),
        () => Promise.reject(failure),
      ),
    ).rejects.toBe(failure);
  });
});

describe('wrapToolCall of a custom middleware', () => {
  const call: ToolCall = { id: 'c1', name: 'ls', args: { path: '/' }, type: 'tool_call' };
  const request: ToolCallRequest = { call, tool: undefined, state };
  const inner = {
    content: 'a\nb',
    additionalKwargs: { mark: 1 },
    messageId: 'm1',
    artifact: [1],
    update: { title: 't' },
  };
  const wrapped = (wrap: NonNullable<ProbeHooks['wrapToolCall']>, over: Partial<ToolCallRequest> = {}) =>
    createProbe({ wrapToolCall: wrap }).wrapToolCall?.(
      { ...request, ...over },
      () => Promise.resolve(inner),
      fakeRun(),
    );

  test('it sees the call and the answer, and hidden parts are preserved', async () => {
    const seen: unknown[] = [];
    const outcome = await wrapped(async ({ call: asked, tool }, next) => {
      const given = await next();
      seen.push(asked, tool, given);
      return given;
    });

    expect(seen).toEqual([
      { id: 'c1', name: 'ls', args: { path: '/' } },
      undefined,
      { content: 'a\nb', artifact: [1] },
    ]);
    expect(outcome).toEqual(inner);
  });

  test('it may answer instead of the tool, and store state', async () => {
    const outcome = await wrapped((_request, _next, { own }) => ({
      content: 'no',
      isError: true,
      own: { count: (own?.count ?? 0) + 1 },
    }));

    expect(outcome).toEqual({ content: 'no', isError: true, update: { extensions: { probe: { count: 3 } } } });
  });

  test('it may change the answer; the rest of the outcome stays', async () => {
    const outcome = await wrapped(async (_request, next) => ({ ...(await next()), content: 'short', own: null }));

    expect(outcome).toEqual({ ...inner, content: 'short', update: { title: 't', extensions: { probe: null } } });
  });

  test('a tool is called once', async () => {
    await expect(wrapped(async (_request, next) => (await next(), next()))).rejects.toThrow(
      "'probe' called a tool twice",
    );
  });

  test('no answer is an error that says so', async () => {
    await expect(wrapped(() => undefined as never)).rejects.toThrow(/wrong answer in wrapToolCall/);
  });
});

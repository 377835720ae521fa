import {
  type AiMessage,
  ExtensionError,
  FencedError,
  ModelError,
  type ThreadState,
  type ToolCall,
} from '@caribou/contracts';
import type { AgentMiddleware, ModelRequest, RunContext, Step, ToolCallRequest } from '@caribou/core';
import { type FakeRun, fakeRun, humanMessage } from '@caribou/testing';
import { z } from 'zod';
import { defineMiddleware } from './custom-middleware.js';
import type { CustomContext, MiddlewareDefinition, ShownState } from './public-types.js';

const Counted = z.object({ count: z.int() });
type Counted = z.infer<typeof Counted>;
type Given = Omit<MiddlewareDefinition<Counted>, 'name' | 'state'>;

const made = (given: Given): AgentMiddleware =>
  defineMiddleware({ name: 'probe', state: Counted, ...given }).middleware;
const answer = (over: Partial<AiMessage> = {}): AiMessage => ({
  type: 'ai',
  id: 'a1',
  content: 'hello',
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: [],
  invalid_tool_calls: [],
  ...over,
});
const state: ThreadState = {
  messages: [humanMessage('hi', 'h1')],
  guards: { secret: 1 },
  extensions: { probe: { count: 2 } },
};

describe('hooks of a custom middleware', () => {
  const passed = (hook: Given['beforeModel'], run: RunContext = fakeRun()): Promise<Step | undefined> | undefined =>
    made(hook === undefined ? {} : { beforeModel: hook }).beforeModel?.(state, run);

  test('only those it has are there', () => {
    expect(Object.keys(made({}))).toEqual(['name', 'tools']);
    expect(Object.keys(made({ afterAgent: () => undefined, slowAfterModel: true }))).toEqual([
      ...['name', 'tools', 'isSlowAfterModel', 'afterAgent'],
    ]);
  });

  test('each hook is called at its position', async () => {
    const called: string[] = [];
    const say = (place: string) => () => void called.push(place);
    const middleware = made({
      beforeAgent: say('beforeAgent'),
      beforeModel: say('beforeModel'),
      afterModel: say('afterModel'),
      afterAgent: say('afterAgent'),
    });
    for (const hook of ['beforeAgent', 'beforeModel', 'afterModel', 'afterAgent'] as const) {
      expect(await middleware[hook]?.(state, fakeRun())).toBeUndefined();
    }
    expect(called).toEqual(['beforeAgent', 'beforeModel', 'afterModel', 'afterAgent']);
  });

  test('it gets the documented part of the run, and its own state', async () => {
    const run = fakeRun({ context: { is_plan_mode: true } });
    let context: CustomContext<Counted> | undefined;
    let seen: ShownState | undefined;
    await passed((given, handed) => {
      [seen, context] = [given, handed];
    }, run);

    expect(Object.keys(context ?? {}).sort()).toEqual(
      ['attempt', 'decided', 'emit', 'log', 'now', 'own', 'runId', 'signal', 'switches', 'threadId', 'userId'].sort(),
    );
    expect(context).toMatchObject({ userId: 'default', threadId: 'thread-1', attempt: 1, own: { count: 2 } });
    expect(context?.switches).toEqual({ is_plan_mode: true });
    expect(context?.now()).toBe(run.clock.now());
    expect(seen).not.toHaveProperty('guards');
    expect(seen?.messages[0]).toBe(state.messages[0]);
  });

  test('what it does to the list of messages changes nothing', async () => {
    await passed(({ messages }) => void messages.splice(0));

    expect(state.messages).toHaveLength(1);
  });

  test('events, decisions and log lines bear its name', async () => {
    const lines: unknown[] = [];
    const info = (fields: object, text: string): void => void lines.push(fields, text);
    const run = fakeRun();
    await passed(
      async (_state, { emit, decided, log }) => {
        await emit({ type: 'probe', at: new Date(0) });
        decided('counted', { count: 1 });
        log({ count: 1, middleware: 'title' }, 'seen');
      },
      { ...run, logger: { ...run.logger, info } },
    );

    expect(run.events).toEqual([{ kind: 'custom', data: { type: 'probe', at: '1970-01-01T00:00:00.000Z' } }]);
    expect(run.decisions).toEqual(['probe: counted']);
    expect(lines).toEqual([{ custom: { count: 1, middleware: 'title' }, middleware: 'probe' }, 'seen']);
  });

  test('a step is taken over, with what is missing of its messages', async () => {
    const step = await passed(() => ({
      update: {
        title: 't',
        messages: [
          { type: 'ai', content: 'bye' },
          { type: 'remove', id: 'h1' },
        ],
      },
      own: { count: 3 },
      end: true,
      again: false,
      durable: true,
      stopReason: 'enough',
      usage: { model: 'small', inputTokens: 3, outputTokens: 1 },
    }));

    expect(step).toEqual({
      update: {
        title: 't',
        messages: [answer({ id: expect.any(String), content: 'bye' }), { type: 'remove', id: 'h1' }],
        extensions: { probe: { count: 3 } },
      },
      end: true,
      again: false,
      durable: true,
      stopReason: 'enough',
      usage: { caller: 'middleware', model: 'small', inputTokens: 3, outputTokens: 1 },
    });
  });

  test.each<[string, unknown, RegExp]>([
    ['an unknown key', { ends: true }, /^the middleware 'probe' gave a wrong answer in beforeModel: .*"ends"/],
    ['a channel of ours', { update: { sandbox: {} } }, /update: .*"sandbox"/],
    ["another one's field", { update: { extensions: {} } }, /"extensions"/],
    ['no message', { update: { messages: [{ type: 'tool', content: 'x' }] } }, /update\.messages\.0\.tool_call_id/],
    ['no step', 'end', /expected object/],
    ['a state that breaks its schema', { own: { count: 'x' } }, /^own state of the middleware 'probe': count: /],
  ])('%s is an error that says so', async (_what, given, message) => {
    const failure = passed(() => given as never);

    await expect(failure).rejects.toBeInstanceOf(ExtensionError);
    await expect(failure).rejects.toThrow(message);
  });

  test('its own exception fails the run under its name, without the text of the exception', async () => {
    const wrong = new TypeError('token sk-123 is bad');
    const failure = await passed(() => {
      throw wrong;
    })?.catch((error: unknown) => error);

    expect(failure).toBeInstanceOf(ExtensionError);
    expect(failure).toMatchObject({
      message: "the middleware 'probe' failed in beforeModel: TypeError",
      expected: true,
      cause: wrong,
    });
  });

  test('a hook that never returns fails the run at its deadline', async () => {
    const stuck = made({ timeoutMs: 5, beforeModel: () => new Promise(() => undefined) });

    await expect(stuck.beforeModel?.(state, fakeRun())).rejects.toThrow(
      "the middleware 'probe' did not return from beforeModel within 5 ms",
    );
  });

  test.each<[string, unknown, RegExp]>([
    ['too large', 'x'.repeat(65_535), /65537 bytes, over 65536/],
    ['not JSON', 1n, /not plain JSON/],
  ])('an event that is %s is an error', async (_what, data, message) => {
    await expect(passed((_state, { emit }) => emit(data))).rejects.toThrow(message);
  });

  test('a lost run stays a lost run', async () => {
    const fenced = new FencedError('lost');
    const run: FakeRun = fakeRun({ emit: () => Promise.reject(fenced) });
    const lost = { ...run, emit: () => Promise.reject(fenced) };

    await expect(passed((_state, { emit }) => emit(1), lost)).rejects.toBe(fenced);
  });
});

describe('wrapModelCall of a custom middleware', () => {
  const tool = { name: 'ls', description: 'd', parameters: {}, invoke: () => Promise.resolve({ content: '' }) };
  const request: ModelRequest = { model: 'm', system: 's', messages: state.messages, tools: [tool], state };
  const sent: ModelRequest[] = [];
  const next = (asked: ModelRequest): Promise<AiMessage> => (sent.push(asked), Promise.resolve(answer()));
  const wrapped = (wrap: NonNullable<Given['wrapModelCall']>, further = next) =>
    made({ wrapModelCall: wrap }).wrapModelCall?.(request, further, fakeRun());
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

  test.each<[string, NonNullable<Given['wrapModelCall']>, RegExp]>([
    ['a tool that is not there', (asked, go) => go({ ...asked, tools: [{ ...tool, name: 'rm' }] }), /no tool 'rm'/],
    ['a system text that is none', (asked, go) => go({ ...asked, system: 7 as never }), /the request: system: /],
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
  const wrapped = (wrap: NonNullable<Given['wrapToolCall']>, over: Partial<ToolCallRequest> = {}) =>
    made({ wrapToolCall: wrap }).wrapToolCall?.({ ...request, ...over }, () => Promise.resolve(inner), fakeRun());

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

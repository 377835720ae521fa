import { ExtensionError, FencedError } from '@caribou/contracts';
import type { RunContext, Step } from '@caribou/core';
import { type FakeRun, fakeRun } from '@caribou/testing';
import type { CustomContext, ShownState } from './public-types.js';
import { answer, type Counted, createProbe, type ProbeHooks, state } from './testing/probe-middleware.js';

describe('hooks of a custom middleware', () => {
  const passed = (
    hook: ProbeHooks['beforeModel'],
    run: RunContext = fakeRun(),
  ): Promise<Step | undefined> | undefined =>
    createProbe(hook === undefined ? {} : { beforeModel: hook }).beforeModel?.(state, run);

  test('only those it has are there', () => {
    expect(Object.keys(createProbe({}))).toEqual(['name', 'tools']);
    expect(Object.keys(createProbe({ afterAgent: () => undefined, slowAfterModel: true }))).toEqual([
      ...['name', 'tools', 'isSlowAfterModel', 'afterAgent'],
    ]);
  });

  test('each hook is called at its position', async () => {
    const called: string[] = [];
    const say = (place: string) => () => void called.push(place);
    const middleware = createProbe({
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
      [
        ...['attempt', 'decided', 'emit', 'interrupt', 'log', 'now', 'own'],
        ...['runId', 'signal', 'switches', 'threadId', 'userId'],
      ].sort(),
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
      usage: [{ caller: 'middleware', model: 'small', inputTokens: 3, outputTokens: 1 }],
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
    const stuck = createProbe({ timeoutMs: 5, beforeModel: () => new Promise(() => undefined) });

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

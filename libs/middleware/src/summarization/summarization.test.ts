import type { Message, StateUpdate, ThreadState } from '@caribou/contracts';
import {
  applyUpdate,
  type ModelPort,
  type ModelRequest,
  RunCancelled,
  type RunContext,
  type Step,
} from '@caribou/core';
import {
  fakeRun,
  humanMessage,
  modelFailure,
  type ScriptedAnswer,
  type ScriptedModel,
  scriptedModel,
} from '@caribou/testing';
import { summarization, type SummarizationOptions } from './summarization.js';
import { answer, talk } from '../testing/sample-talk.js';

const state = (messages: readonly Message[] = talk, channels: StateUpdate = {}): ThreadState =>
  applyUpdate({ messages: [...messages] }, channels);

/** Fires on five messages, keeps two. */
const options: SummarizationOptions = {
  enabled: true,
  trigger: { type: 'messages', value: 5 },
  keep: { type: 'messages', value: 2 },
};
const usage = { input_tokens: 30, output_tokens: 5, total_tokens: 35 };
const failing: ScriptedAnswer = { error: modelFailure({ reason: 'connection' }) };
const named = (name: string, ...answers: readonly ScriptedAnswer[]): ScriptedModel => ({
  ...scriptedModel([answers]),
  name,
});
const good = (): ScriptedModel => named('own', { content: ' They met. ', usage });

interface Scene {
  readonly own?: ModelPort;
  readonly summaryModel?: ModelPort;
  readonly run?: RunContext;
  readonly options?: SummarizationOptions;
  readonly timeoutMs?: number;
}

async function before(from: ThreadState, scene: Scene = {}): Promise<Step | undefined> {
  const { own = good(), run = fakeRun(), options: given, ...rest } = scene;
  const ports = { model: () => own, ...rest };
  return summarization({ ...options, ...given }, ports).beforeModel?.(from, run);
}
const reached = (from: ThreadState, step: Step | undefined): ThreadState => applyUpdate(from, step?.update ?? {});
const ids = ({ messages }: ThreadState): readonly string[] => messages.map(({ id }) => id);

describe(summarization, () => {
  test('the older part is removed by single ids, with its summary, durably, and the usage is reported', async () => {
    const run = fakeRun();

    const step = await before(state(), { run });

    expect(step).toMatchObject({
      update: { messages: ['h1', 'a1', 'h2'].map((id) => ({ type: 'remove', id })), summary_text: 'They met.' },
      durable: true,
      usage: [{ caller: 'middleware', model: 'own', inputTokens: 30, outputTokens: 5 }],
    });
    expect(ids(reached(state(), step))).toEqual(['a2', 'h3']);
    expect(run.decisions).toEqual(['summarization: summarized']);
    expect(run.events).toEqual([]);
  });

  test('the call shows what goes and the old summary, which the new one replaces', async () => {
    const own = good();

    const step = await before(state(talk, { summary_text: 'Before.' }), { own });

    const [call] = own.calls;
    expect(call).toMatchObject({ thinkingEnabled: false, tools: [] });
    expect(call?.messages[0]?.content).toMatch(/Before\.[^]*>h1<[^]*>a1<[^]*>h2</);
    expect(call?.messages[0]?.content).not.toMatch(/h3|a2/);
    expect(step?.update?.summary_text).toBe('They met.');
  });

  test.each<[string, SummarizationOptions, ThreadState]>([
    ['it is switched off, as it is without settings', { enabled: false }, state()],
    ['there is no trigger, as without settings', { trigger: null }, state()],
    [
      'no trigger fires',
      {
        trigger: [
          { type: 'messages', value: 6 },
          { type: 'tokens', value: 900 },
        ],
      },
      state(),
    ],
    ['the limit of the model is unknown', { trigger: { type: 'fraction', value: 0.0001 } }, state()],
    ['everything must stay', { keep: { type: 'messages', value: 9 } }, state()],
  ])('nothing is asked or changed when %s', async (_why, settings, from) => {
    const own = good();
    const run = fakeRun();

    expect(await before(from, { own, run, options: settings })).toBeUndefined();
    expect(own.calls).toEqual([]);
    expect(run.decisions).toEqual([]);
  });

  test('of several triggers any one is enough', async () => {
    const limited = { ...good(), maxInputTokens: 20 };
    const tokens = { type: 'tokens', value: 900 } as const;
    const share = { type: 'fraction', value: 0.5 } as const;

    expect(await before(state(), { own: limited, options: { trigger: [tokens, share] } })).toBeDefined();
  });

  test("the summary counts towards the tokens, and so does the provider's count of the last answer", async () => {
    const trigger = { type: 'tokens', value: 900 } as const;
    const long = state([humanMessage('x'.repeat(2000), 'h0'), ...talk]);
    const counted = (input_tokens: number): ThreadState =>
      state([...talk, answer('a3', { usage_metadata: { ...usage, input_tokens } }), humanMessage('h4')]);
    const fires = async (from: ThreadState): Promise<boolean> =>
      (await before(from, { options: { trigger } })) !== undefined;

    expect(await fires(long)).toBe(false);
    expect(await fires(applyUpdate(long, { summary_text: 'x'.repeat(2000) }))).toBe(true);
    expect(await fires(counted(800))).toBe(false);
    expect(await fires(counted(900))).toBe(true);
  });

  test('answers counted with the messages that went do not fire again', async () => {
    const trigger = { type: 'tokens', value: 900 } as const;
    const kept = answer('a2', { usage_metadata: { ...usage, input_tokens: 900 } });
    const from = state([...talk.slice(0, 3), kept, humanMessage('h3', 'h3')]);
    const after = reached(from, await before(from, { options: { trigger } }));
    expect(ids(after)).toEqual(['a2', 'h3']);

    const later = applyUpdate(after, { messages: [answer('a3'), humanMessage('h4', 'h4')] });
    expect(await before(later, { options: { trigger } })).toBeUndefined();
  });

  test('a few small messages behind a large one that must stay are not worth a call', async () => {
    const trigger = { type: 'tokens', value: 900 } as const;
    const from = state([...talk.slice(0, 4), humanMessage('x'.repeat(8000), 'h3')]);

    expect(await before(from, { options: { trigger } })).toBeUndefined();
    expect(await before(from, { options: { trigger: [trigger, { type: 'messages', value: 5 }] } })).toBeDefined();
  });

  test('a summary is stored only up to its limit, in whole characters', async () => {
    const text =
      (await before(state(), { own: named('own', { content: '😀x'.repeat(9000) }) }))?.update?.summary_text ?? '';

    expect(text.length).toBeLessThanOrEqual(24_000);
    expect(text).not.toMatch(/\p{Cs}/u);
  });
});

describe('models that give no summary', () => {
  test.each<[string, ScriptedAnswer]>([
    ['fails', failing],
    ['says nothing', { content: ' ' }],
    ['does not end in time', { content: 'late', holdBefore: { delta: 0, until: new Promise(() => undefined) } }],
  ])('where the configured one %s, the one of the run is asked', async (_how, answer) => {
    const step = await before(state(), { summaryModel: named('small', answer), timeoutMs: 20 });

    expect(step).toMatchObject({ update: { summary_text: 'They met.' }, usage: [{ model: 'own' }] });
  });

  test('the model of the run is not asked when the configured one answers, nor twice when it is the same', async () => {
    const [own, small] = [named('own', failing), named('small', { content: 'Short.' })];
    expect((await before(state(), { own, summaryModel: small }))?.update?.summary_text).toBe('Short.');
    expect(own.calls).toEqual([]);

    await before(state(), { own, summaryModel: own });
    expect(own.calls).toHaveLength(1);
  });

  test('no summary at all leaves the history and the old summary as they are (S1)', async () => {
    const run = fakeRun();
    const from = state(talk, { summary_text: 'Before.' });

    const step = await before(from, {
      own: named('own', { ...failing, usage }),
      summaryModel: named('small', failing),
      run,
    });

    expect(step).toEqual({ update: { guards: expect.anything() }, usage: [expect.objectContaining({ model: 'own' })] });
    expect(reached(from, step)).toEqual({ ...from, guards: expect.anything() });
    expect(run.decisions).toEqual(['summarization: skipped']);
  });

  test('the same run asks again only after ten more messages, another run at once (S1)', async () => {
    const own = named('own', failing);
    const from = state();
    const failed = reached(from, await before(from, { own }));
    const grown = (count: number): ThreadState =>
      applyUpdate(failed, { messages: Array.from({ length: count }, (_, index) => humanMessage('more', `m${index}`)) });

    for (const count of [0, 1, 9]) expect(await before(grown(count), { own })).toBeUndefined();
    expect(own.calls).toHaveLength(1);
    await before(grown(10), { own });
    expect(own.calls).toHaveLength(2);
    await before(failed, { own, run: fakeRun({ runId: '22222222-2222-4222-8222-222222222222' }) });
    expect(own.calls).toHaveLength(3);
  });

  test('a summary after a failure ends the pause', async () => {
    const from = state();
    const failed = reached(from, await before(from, { own: named('own', failing) }));
    const grown = applyUpdate(failed, {
      messages: Array.from({ length: 10 }, (_, index) => humanMessage('more', `m${index}`)),
    });
    const after = reached(grown, await before(grown));

    expect(await before(applyUpdate(after, { messages: [...talk] }))).toBeDefined();
  });

  test('a cancel while a model is asked ends the run', async () => {
    const run = fakeRun();
    const reason = new RunCancelled('interrupt');
    const own = named('own', { content: 'x', holdBefore: { delta: 0, until: new Promise(() => undefined) } });

    const pending = before(state(), { own, run });
    run.abort(reason);

    await expect(pending).rejects.toBe(reason);
  });
});

describe('the request', () => {
  const requestOf = (from: ThreadState): ModelRequest => ({
    model: 'own',
    system: 'be good',
    tools: [],
    messages: from.messages,
    state: from,
  });
  async function sent(from: ThreadState): Promise<ModelRequest> {
    const requests: ModelRequest[] = [];
    const middleware = summarization({}, { model: good });
    await middleware.wrapModelCall?.(
      requestOf(from),
      (request) => (requests.push(request), Promise.resolve(answer('x'))),
      fakeRun(),
    );
    return requests[0] ?? requestOf(from);
  }

  test('has the summary in front also where summarization is switched off, and the thread has it not', async () => {
    const from = state(talk, { summary_text: 'They met.' });

    const { messages } = await sent(from);

    expect(messages).toHaveLength(6);
    expect(messages[0]?.content).toContain('They met.');
    expect(messages.slice(1)).toEqual(talk);
    expect(from.messages).toEqual(talk);
  });

  test('is what it was without a summary', async () => {
    expect((await sent(state())).messages).toEqual(talk);
  });
});

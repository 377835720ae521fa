import { runAgent } from '@caribou/agent';
import { textOf, toClientState, type Message, type ThreadState } from '@caribou/contracts';
import { applyUpdate } from '@caribou/core';
import { fakeRun, humanMessage, runWithCuts, type ScriptedModel, scriptedModel } from '@caribou/testing';
import type { ContextFacts } from './context-sections.js';
import { threadContext } from './thread-context.js';

const MONDAY: ContextFacts = { memory: 'Facts:\n- likes tea', current_date: '2026-01-05, Monday' };
const TUESDAY: ContextFacts = { memory: 'Facts:\n- likes tea', current_date: '2026-01-06, Tuesday' };

const ask = (state: ThreadState, id: string): ThreadState => applyUpdate(state, { messages: [humanMessage(id, id)] });

/** The state after the first hook of a run that is shown these facts. */
async function begin(state: ThreadState, facts: ContextFacts): Promise<ThreadState> {
  const step = await threadContext(() => Promise.resolve(facts)).beforeAgent?.(state, fakeRun());
  return applyUpdate(state, step?.update ?? {});
}

/** The messages of a request for a state, each by its text. */
async function sent(state: ThreadState, messages: readonly Message[] = state.messages): Promise<readonly string[]> {
  let request: readonly Message[] = [];
  const answer = { ...answered('x'), additional_kwargs: {}, response_metadata: {} };
  await threadContext(() => Promise.resolve({})).wrapModelCall?.(
    { model: 'm', system: '', messages, tools: [], state },
    (inner) => {
      request = inner.messages;
      return Promise.resolve(answer);
    },
    fakeRun(),
  );
  return request.map(({ content }) => textOf(content));
}

const answered = (id: string) => ({
  type: 'ai' as const,
  id,
  content: id,
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: [],
  invalid_tool_calls: [],
});

const has = (text: string): unknown => expect.stringContaining(text);

describe(threadContext, () => {
  test('the first turn writes a message in front of all, which later turns repeat', async () => {
    const first = await begin(ask({ messages: [] }, 'h1'), MONDAY);
    const second = await begin(ask(applyUpdate(first, { messages: [answered('a1')] }), 'h2'), MONDAY);

    expect(await sent(first)).toEqual([has('likes tea'), 'h1']);
    expect(await sent(second)).toEqual([(await sent(first))[0], 'h1', 'a1', 'h2']);
    expect(second.thread_context).toBe(first.thread_context);
  });

  test('a change is noted in front of the message of the turn in which it is noticed', async () => {
    const first = applyUpdate(await begin(ask({ messages: [] }, 'h1'), MONDAY), { messages: [answered('a1')] });
    const second = applyUpdate(await begin(ask(first, 'h2'), TUESDAY), { messages: [answered('a2')] });
    const third = await begin(ask(second, 'h3'), { ...TUESDAY, memory: 'Facts:\n- likes tea\n- likes rain' });

    const [context = '', ...later] = await sent(third);
    expect(context).toContain('2026-01-05');
    expect(later).toEqual(['h1', 'a1', has('2026-01-06, Tuesday'), 'h2', 'a2', has('- likes rain'), 'h3']);
    expect(later[5]).not.toContain('tea');
  });

  test('what could not be read stays as it was shown', async () => {
    const first = applyUpdate(await begin(ask({ messages: [] }, 'h1'), MONDAY), { messages: [answered('a1')] });

    const second = await begin(ask(first, 'h2'), { current_date: '2026-01-05, Monday' });

    expect(second.thread_context).toBe(first.thread_context);
  });

  test('a run that continues without a message of the user adds no note; the next one does', async () => {
    const first = applyUpdate(await begin(ask({ messages: [] }, 'h1'), MONDAY), { messages: [answered('a1')] });

    const continued = await begin(first, TUESDAY);

    expect(continued.thread_context).toBe(first.thread_context);
    expect(await sent(await begin(ask(continued, 'h2'), TUESDAY))).toEqual([
      ...[has('Monday'), 'h1', 'a1', has('Tuesday'), 'h2'],
    ]);
  });

  test('what the person has erased is not sent any more', async () => {
    const first = applyUpdate(await begin(ask({ messages: [] }, 'h1'), MONDAY), { messages: [answered('a1')] });

    const second = await begin(ask(first, 'h2'), { ...TUESDAY, memory: '' });

    expect((await sent(second)).join()).not.toContain('tea');
    expect((await sent(second))[0]).toContain('Tuesday');
    expect(JSON.stringify(second)).not.toContain('tea');
  });

  test('notes whose message was removed are joined to a new first message', async () => {
    const first = applyUpdate(await begin(ask({ messages: [] }, 'h1'), MONDAY), { messages: [answered('a1')] });
    const second = applyUpdate(await begin(ask(first, 'h2'), TUESDAY), {
      messages: [answered('a2'), { type: 'remove', id: 'h1' }],
    });
    const middleware = threadContext(() => Promise.resolve({}));
    expect(await middleware.beforeModel?.(second, fakeRun())).toBeUndefined();

    const cut = applyUpdate(second, { messages: [{ type: 'remove', id: 'h2' }] });
    expect(await sent(cut)).toEqual([has('Monday'), has('Tuesday'), 'a1', 'a2']);
    const step = await middleware.beforeModel?.(cut, fakeRun());
    const [context = '', ...later] = await sent(applyUpdate(cut, step?.update ?? {}));
    expect(context).toContain('Tuesday');
    expect(context).not.toContain('Monday');
    expect(later).toEqual(['a1', 'a2']);
  });

  test('notes are bounded: too many are joined', async () => {
    let state: ThreadState = { messages: [] };
    const sizes: number[] = [];
    for (let at = 0; at <= 51; at += 1) {
      state = await begin(ask(state, `h${at}`), { memory: `- fact ${at}` });
      state = applyUpdate(state, { messages: [answered(`a${at}`)] });
      sizes.push(state.thread_context?.notes.length ?? -1);
    }

    expect(sizes.slice(0, 3)).toEqual([0, 1, 2]);
    expect(sizes.slice(-2)).toEqual([50, 0]);
    expect(state.thread_context?.text).toContain('- fact 51');
  });

  test('an edited first message gets the facts of that time, as the thread before it had none', async () => {
    const branch = await begin(ask({ messages: [] }, 'h1 edited'), TUESDAY);

    expect(await sent(branch)).toEqual([has('Tuesday'), 'h1 edited']);
  });

  test('a turn that is regenerated or edited is sent behind what the turn before it was sent with', async () => {
    const base = applyUpdate(await begin(ask({ messages: [] }, 'h1'), MONDAY), { messages: [answered('a1')] });
    const first = await sent(await begin(ask(base, 'h2'), TUESDAY));

    const again = await sent(await begin(ask(base, 'h2'), TUESDAY));
    const edited = await sent(await begin(ask(base, 'h2 edited'), TUESDAY));

    expect(again).toEqual(first);
    expect(edited).toEqual([...first.slice(0, -1), 'h2 edited']);
  });

  test('clients do not see it', async () => {
    expect(toClientState(await begin({ messages: [] }, MONDAY))).toEqual({ messages: [] });
  });
});

describe('a takeover', () => {
  const runOf = (model: ScriptedModel, facts: () => ContextFacts) => (place: { readonly attempt: number }) =>
    ({
      ...place,
      chain: [threadContext(() => Promise.resolve(facts()))],
      model,
      tools: [],
      systemPrompt: '',
      options: { maxTurns: 9 },
      run: fakeRun({ attempt: place.attempt }),
    }) as const;

  test('after the first commit sends what the run before it sent, though the facts have changed', async () => {
    const model = scriptedModel([{ calls: [{ name: 'unknown' }] }, { content: 'done' }]);
    let reads = 0;
    const assemble = runOf(model, () => {
      reads += 1;
      return reads === 1 ? MONDAY : TUESDAY;
    });

    await runWithCuts(
      { messages: [humanMessage('go', 'h1')] },
      [{ kind: 'death', commit: 2, written: true }],
      ({ attempt, ...place }) => runAgent({ ...assemble({ attempt }), ...place }),
    );

    expect(model.calls.map(({ messages }) => textOf(messages[0]?.content ?? ''))).toEqual(
      model.calls.map(() => has('Monday')),
    );
    expect(reads).toBe(1);
  });
});

import { runAgent } from '@caribou/agent';
import type { AiMessage, Message, ThreadState, Todo } from '@caribou/contracts';
import {
  type Cut,
  fakeRun,
  humanMessage,
  runWithCuts,
  type ScriptedAnswer,
  type ScriptedModel,
  scriptedModel,
  transcriptFaults,
} from '@caribou/testing';
import fc from 'fast-check';
import { todo } from './todo.js';
import { TODO_PROMPT } from './todo-texts.js';

const TODOS: readonly Todo[] = [
  { content: 'read', status: 'completed' },
  { content: 'write', status: 'in_progress' },
  { content: 'test', status: 'pending' },
];
const DONE: readonly Todo[] = [{ content: 'read', status: 'completed' }];

const writes = (...lists: readonly (readonly Todo[])[]): ScriptedAnswer => ({
  calls: lists.map((todos) => ({ name: 'write_todos', args: { todos } })),
});

async function runScript(model: ScriptedModel, from: Partial<ThreadState> = {}, cuts: readonly Cut[] = []) {
  const start: ThreadState = { messages: [humanMessage('go', 'h1')], ...from };
  const { outcome } = await runWithCuts(start, cuts, ({ attempt, ...place }) =>
    runAgent({
      ...place,
      chain: [todo()],
      model,
      tools: [],
      systemPrompt: '',
      options: { maxTurns: 20 },
      run: fakeRun({ attempt }),
    }),
  );
  return outcome.last.state;
}

const namesOf = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap((message) => (message.type === 'human' && typeof message.name === 'string' ? [message.name] : []));
const textsOf = (messages: readonly Message[], name: string): readonly unknown[] =>
  messages.filter((message) => message.name === name).map(({ content }) => content);

describe('write_todos', () => {
  test('a call replaces the list and says so', async () => {
    const state = await runScript(scriptedModel([writes(TODOS), writes(DONE)]));

    expect(state.todos).toEqual(DONE);
    expect(state.messages.filter(({ type }) => type === 'tool')).toMatchObject([
      { content: `Updated todo list to ${JSON.stringify(TODOS)}`, status: 'success' },
      { content: `Updated todo list to ${JSON.stringify(DONE)}` },
    ]);
  });

  test('two calls in one answer are both refused, and the list stays', async () => {
    const state = await runScript(scriptedModel([writes(TODOS, DONE)]), { todos: [...DONE] });

    expect(state.todos).toEqual(DONE);
    expect(state.messages.filter(({ type }) => type === 'tool')).toMatchObject([
      { status: 'error', content: expect.stringContaining('more than once') as string },
      { status: 'error', content: expect.stringContaining('more than once') as string },
    ]);
  });

  test('another tool in the same answer is not refused', async () => {
    const calls = [...(writes(DONE).calls ?? []), { name: 'nowhere' }];

    const state = await runScript(scriptedModel([{ calls }]));

    expect(state.messages.filter(({ type }) => type === 'tool').map((message) => message.content)).toEqual([
      expect.stringContaining('Updated todo list'),
      expect.stringContaining('does not exist'),
    ]);
  });

  test.each([
    ['a status that is none', [{ content: 'x', status: 'done' }]],
    ['a step without words', [{ content: ' ', status: 'pending' }]],
    ['too many steps', Array.from({ length: 101 }, () => TODOS[0])],
  ])('%s is refused', async (_what, todos) => {
    const state = await runScript(scriptedModel([{ calls: [{ name: 'write_todos', args: { todos } }] }]));

    expect(state.todos).toBeUndefined();
    expect(state.messages.find(({ type }) => type === 'tool')).toMatchObject({ status: 'error' });
  });

  test('prompt and description say when and how', () => {
    const description = todo().tools?.[0]?.description ?? '';

    for (const text of [TODO_PROMPT, description]) {
      expect(text).toMatch(/three steps/);
      expect(text).toMatch(/in_progress`? before/);
      expect(text).toMatch(/parallel/);
      expect(text).toMatch(/revise/i);
      expect(text).toMatch(/tests/);
      expect(text).toMatch(/small tasks/);
    }
    expect(TODO_PROMPT).toMatch(/at once when it is done; never report several/);
  });
});

describe('a list that left the context', () => {
  const remind = async (state: Partial<ThreadState>) =>
    (await todo().beforeModel?.({ messages: [humanMessage('go')], ...state }, fakeRun()))?.update?.messages;

  test('is shown to the model again in a hidden message, each step on a line and without markup', async () => {
    const odd: Todo = { content: 'a\n</system_reminder> & <b>', status: 'pending' };

    expect(await remind({ todos: [...TODOS, odd] })).toEqual([
      expect.objectContaining({
        type: 'human',
        name: 'todo_reminder',
        additional_kwargs: { hide_from_ui: true },
        content: expect.stringMatching(
          /^<system_reminder>\n.*\n\n- \[completed\] read\n- \[in_progress\] write\n- \[pending\] test\n- \[pending\] a &lt;\/system_reminder&gt; &amp; &lt;b&gt;\n\n.*\n<\/system_reminder>$/,
        ) as string,
      }),
    ]);
  });

  test('a long list is cut', async () => {
    const many = Array.from({ length: 130 }, (): Todo => ({ content: 'x'.repeat(2_000), status: 'pending' }));

    const content = JSON.stringify(await remind({ todos: many }));

    expect(content.length).toBeLessThan(100 * 520 + 500);
    expect(content).toContain('(and 30 more)');
  });

  test('is reminded of once: not while the model sees its own call or the reminder, and not when there is no list', async () => {
    const reminded = { ...humanMessage('x'), name: 'todo_reminder' };
    const state = await runScript(scriptedModel([writes(DONE)]));

    expect(await remind({})).toBeUndefined();
    expect(await remind({ todos: [] })).toBeUndefined();
    expect(await remind({ todos: [...TODOS], messages: [reminded] })).toBeUndefined();
    expect(await remind({ todos: [...TODOS], messages: state.messages })).toBeUndefined();
    expect(
      namesOf((await runScript(scriptedModel([{ calls: [{ name: 'x' }] }]), { todos: [...DONE] })).messages),
    ).toEqual(['todo_reminder']);
  });
});

describe('an answer that leaves steps open', () => {
  test('is followed by another call with a reminder that stays in the thread, twice in a run', async () => {
    const model = scriptedModel([
      writes(TODOS),
      { content: 'a' },
      { content: 'b' },
      { content: 'c' },
      { content: 'd' },
    ]);

    const state = await runScript(model);

    expect(model.calls.map(({ messages }) => namesOf(messages))).toEqual([
      [],
      [],
      ['todo_completion_reminder'],
      ['todo_completion_reminder', 'todo_completion_reminder'],
    ]);
    expect(textsOf(model.calls[2]?.messages ?? [], 'todo_completion_reminder')).toEqual([
      expect.stringMatching(/\n\n- \[in_progress\] write\n- \[pending\] test\n\n/),
    ]);
    expect(namesOf(state.messages)).toHaveLength(2);
    expect(state.messages.at(-1)?.content).toBe('c');
  });

  test('the reminder is not repeated when the model goes to work', async () => {
    const model = scriptedModel([writes(TODOS), { content: 'a' }, writes(TODOS), writes(DONE), { content: 'b' }]);

    await runScript(model);

    expect(model.calls.map(({ messages }) => namesOf(messages).length)).toEqual([0, 0, 1, 1, 1]);
  });

  test('the next run is reminded again', async () => {
    const state = await runScript(scriptedModel([writes(TODOS), {}, { content: 'a' }]));
    const step = await todo().afterModel?.(
      { ...state, messages: [...state.messages, answer()] },
      fakeRun({ runId: '22222222-2222-4222-8222-222222222222' }),
    );

    expect(step?.again).toBe(true);
  });

  const answer = (fields: Partial<AiMessage> = {}): AiMessage => ({
    type: 'ai',
    id: 'a',
    content: 'Done.',
    additional_kwargs: {},
    response_metadata: { finish_reason: 'stop' },
    tool_calls: [],
    invalid_tool_calls: [],
    ...fields,
  });

  test.each<[string, Partial<AiMessage>]>([
    ['a call', { tool_calls: [{ name: 'x', args: {}, id: 'c', type: 'tool_call' }] }],
    ['a broken call', { invalid_tool_calls: [{ name: 'x', args: '', id: 'c', error: '', type: 'invalid_tool_call' }] }],
    ['a call that only the provider tells of', { additional_kwargs: { tool_calls: [{}] } }],
    ['an error', { additional_kwargs: { deerflow_error_fallback: true } }],
    ['a stop by a guard', { additional_kwargs: { stop_reason: 'loop_capped' } }],
    ['a cut', { response_metadata: { finish_reason: 'length' } }],
    ['no finish reason', { response_metadata: {} }],
    ['no words', { content: [{ type: 'text', text: ' \n' }] }],
  ])('with %s it is no final answer', async (_what, fields) => {
    const state: ThreadState = { messages: [answer(fields)], todos: [...TODOS] };

    expect(await todo().afterModel?.(state, fakeRun())).toBeUndefined();
  });

  test.each(['stop', 'end_turn'])('one that ended by %s is', async (finish_reason) => {
    const state: ThreadState = { messages: [answer({ response_metadata: { finish_reason } })], todos: [...TODOS] };

    expect(await todo().afterModel?.(state, fakeRun())).toMatchObject({ again: true });
  });

  test('a finished list, or none, lets the run end', async () => {
    for (const todos of [DONE, []])
      expect(await todo().afterModel?.({ messages: [answer()], todos: [...todos] }, fakeRun())).toBeUndefined();
  });
});

test('whatever is answered, the thread is legal, the run ends, and a takeover changes neither it nor the counters', async () => {
  const list = fc.constantFrom(TODOS, DONE);
  const scripted: fc.Arbitrary<ScriptedAnswer> = fc.oneof(
    fc.record({ content: fc.constantFrom('', 'x') }),
    fc.array(list, { minLength: 1, maxLength: 2 }).map((lists) => writes(...lists)),
  );
  const cut: fc.Arbitrary<Cut> = fc.oneof(
    fc.record({ kind: fc.constant('death' as const), commit: fc.integer({ min: 1, max: 6 }), written: fc.boolean() }),
    fc.record({ kind: fc.constant('yield' as const), commit: fc.integer({ min: 1, max: 6 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(scripted, { maxLength: 8 }), fc.array(cut, { maxLength: 3 }), async (script, cuts) => {
      const todos = [...TODOS];
      const undisturbed = await runScript(scriptedModel(script), { todos });
      const model = scriptedModel(script);
      const disturbed = await runScript(model, { todos }, cuts);

      for (const { messages } of model.calls) expect(transcriptFaults(messages)).toEqual([]);
      expect(transcriptFaults(disturbed.messages)).toEqual([]);
      expect({ ...disturbed, messages: [] }).toEqual({ ...undisturbed, messages: [] });
      expect(disturbed.messages.map(({ type }) => type)).toEqual(undisturbed.messages.map(({ type }) => type));
    }),
    { numRuns: 60 },
  );
});

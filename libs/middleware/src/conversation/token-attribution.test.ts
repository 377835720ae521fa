import type { AiMessage, Content, Todo, ToolCall } from '@caribou/contracts';
import fc from 'fast-check';
import { attributionOf } from './token-attribution.js';

const call = (name: string, args: Record<string, unknown> = {}, id = `call-${name}`): ToolCall => ({
  name,
  args,
  id,
  type: 'tool_call',
});
const answer = (content: Content, ...calls: readonly ToolCall[]): AiMessage => ({
  type: 'ai',
  id: 'a',
  content,
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: [...calls],
  invalid_tool_calls: [],
});
const todo = (content: string, status: Todo['status'] = 'pending'): Todo => ({ content, status });
const writes = (...todos: readonly unknown[]): ToolCall => call('write_todos', { todos });

describe(attributionOf, () => {
  test.each<[string, Content, string]>([
    ['text', 'hello', 'final_answer'],
    ['blocks of text', [{ type: 'text', text: 'hello' }], 'final_answer'],
    ['a list of strings', ['hello'], 'final_answer'],
    ['a block that is no text', [{ type: 'image_url', image_url: 'x' }], 'final_answer'],
    ['no content', '', 'thinking'],
    ['an empty list', [], 'thinking'],
    ['empty text in blocks', [{ type: 'text', text: ' ' }], 'thinking'],
  ])('an answer of %s without calls', (_what, content, kind) => {
    expect(attributionOf(answer(content), [])).toEqual({
      version: 1,
      kind,
      shared_attribution: false,
      tool_call_ids: [],
      actions: [],
    });
  });

  test.each([
    [
      call('bash', { description: ' run it ', command: 'secret' }),
      { kind: 'tool', tool_name: 'bash', description: 'run it' },
    ],
    [call('bash', { description: 7 }), { kind: 'tool', tool_name: 'bash' }],
    [call('web_search', { query: 'cats' }), { kind: 'search', tool_name: 'web_search', query: 'cats' }],
    [call('image_search', { query: 'cats' }), { kind: 'search', tool_name: 'image_search', query: 'cats' }],
    [call('present_files', { filepaths: [] }), { kind: 'present_files' }],
    [call('ask_clarification', { question: 'q' }), { kind: 'clarification' }],
    [writes('no todo'), { kind: 'tool', tool_name: 'write_todos' }],
  ])('a single call is a batch of one that says what it is', (single, action) => {
    expect(attributionOf(answer('on it', single), [])).toEqual({
      version: 1,
      kind: 'tool_batch',
      shared_attribution: false,
      tool_call_ids: [single.id],
      actions: [{ ...action, tool_call_id: single.id }],
    });
  });

  test('a task alone is a dispatch, with others it shares a batch', () => {
    const task = call('task', { description: 'look', subagent_type: 'general-purpose', prompt: 'long' });
    const action = {
      kind: 'subagent',
      description: 'look',
      subagent_type: 'general-purpose',
      tool_call_id: 'call-task',
    };

    expect(attributionOf(answer('', task), [])).toMatchObject({ kind: 'subagent_dispatch', actions: [action] });
    expect(attributionOf(answer('', task, call('ls')), [])).toMatchObject({
      kind: 'tool_batch',
      shared_attribution: true,
      tool_call_ids: ['call-task', 'call-ls'],
      actions: [action, { kind: 'tool', tool_name: 'ls', tool_call_id: 'call-ls' }],
    });
  });

  test('a call with unreadable arguments is a call, so the answer is not final', () => {
    const broken = { name: 'bash', args: '{', id: 'b', error: 'x', type: 'invalid_tool_call' as const };

    expect(attributionOf({ ...answer('text'), invalid_tool_calls: [broken] }, [])).toMatchObject({
      kind: 'tool_batch',
      tool_call_ids: ['b'],
      actions: [{ kind: 'tool', tool_name: 'bash', tool_call_id: 'b' }],
    });
  });

  test.each<[string, Todo[], Todo[], string[]]>([
    ['a new list', [], [todo('a', 'in_progress'), todo('b')], ['todo_start a', 'todo_update b']],
    ['one begun', [todo('a'), todo('b')], [todo('a', 'in_progress'), todo('b')], ['todo_start a']],
    ['one done', [todo('a', 'in_progress')], [todo('a', 'completed')], ['todo_complete a']],
    ['one put back', [todo('a', 'in_progress')], [todo('a')], ['todo_update a']],
    ['one reworded', [todo('a'), todo('b')], [todo('A'), todo('b')], ['todo_update A']],
    ['one dropped', [todo('a'), todo('b')], [todo('b')], ['todo_remove a']],
    ['all cleared', [todo('a')], [], ['todo_remove a']],
    ['another order', [todo('a'), todo('b')], [todo('b'), todo('a')], []],
    ['an equal text twice', [todo('a')], [todo('a'), todo('a')], ['todo_update a']],
  ])('%s is told as what changed', (_what, before, after, expected) => {
    const { kind, actions } = attributionOf(answer('', writes(...after)), before);
    const changes = actions.filter((action) => action.kind !== 'tool');

    expect(changes.map((action) => `${action.kind} ${String(action['content'])}`)).toEqual(expected);
    expect(kind).toBe(expected.length === 1 ? 'todo_update' : 'tool_batch');
  });

  test('the second list of an answer is compared with its first', () => {
    const calls = [writes(todo('a')), { ...writes(todo('a', 'in_progress')), id: 'second' }];

    expect(attributionOf(answer('', ...calls), []).actions).toEqual([
      { kind: 'todo_update', content: 'a', tool_call_id: 'call-write_todos' },
      { kind: 'todo_start', content: 'a', tool_call_id: 'second' },
    ]);
  });

  test('it stays small whatever the model wrote', () => {
    const text = fc.string({ maxLength: 2_000 });
    const entry = fc.record({ content: text, status: fc.constantFrom('pending', 'in_progress', 'completed') });
    const calls = fc.array(
      fc.oneof(
        fc.record({ description: text, query: text }).map((args) => call('bash', args)),
        fc.array(entry, { maxLength: 60 }).map((todos) => writes(...todos)),
      ),
      { maxLength: 80 },
    );
    fc.assert(
      fc.property(calls, (many) => {
        const { actions, tool_call_ids, shared_attribution, kind } = attributionOf(answer('', ...many), []);
        expect(Math.max(actions.length, tool_call_ids.length)).toBeLessThanOrEqual(50);
        expect(JSON.stringify(actions).length).toBeLessThan(50 * 1_600);
        expect(shared_attribution).toBe(actions.length > 1);
        expect(kind === 'thinking').toBe(many.length === 0);
      }),
      { numRuns: 60 },
    );
  });
});

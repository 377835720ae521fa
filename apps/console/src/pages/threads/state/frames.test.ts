import { EMPTY, type ConversationState } from './conversation-state.js';
import { withoutRun, withPage } from './feed.js';
import { type Frame, withFrames, withRun } from './frames.js';
import type { Answer } from './items.js';
import { rowsOf } from './rows.js';
import { saidNow, withAccepted, withRefused, withSent } from './pending.js';
import { aiMessage, feedPage, humanMessage, toolMessage } from '../testing/messages.js';

const RUN = 'run-1';
const started = withRun(EMPTY, RUN);

const metadata = (id: string, more: object = {}): Frame => ({
  id,
  event: 'metadata',
  data: { run_id: RUN, thread_id: 't', attempt: 1, ...more },
});
const delta = (id: string, messageId: string, content: string, more: object = {}): Frame => ({
  id,
  event: 'messages',
  data: [
    { type: 'ai', id: messageId, content, tool_call_chunks: [], additional_kwargs: {}, response_metadata: {}, ...more },
    { ls_model_name: 'model-1' },
  ],
});
const updates = (id: string, data: object): Frame => ({ id, event: 'updates', data });

const answers = (state: ConversationState): Answer[] =>
  [...state.stored, ...state.live].filter((item) => item.kind === 'answer');
const texts = (state: ConversationState): string[] => answers(state).map(({ text }) => text);

test('deltas of one id are one answer, with reasoning, pieces of calls, model and tokens', () => {
  const state = withFrames(started, [
    metadata('1.1'),
    delta('2', 'a', '', { additional_kwargs: { reasoning_content: 'hm' } }),
    delta('3', 'a', 'Hel'),
    delta('4~2', 'a', 'lo', { tool_call_chunks: [{ index: 0, id: 'c1', name: 'bash', args: '{"a' }] }),
    delta('5', 'a', '', { tool_call_chunks: [{ index: 0, id: null, name: null, args: '":1}' }] }),
    delta('6', 'a', '', { usage_metadata: { input_tokens: 3, output_tokens: 4, total_tokens: 7 } }),
  ]);
  expect(answers(state)).toMatchObject([
    {
      text: 'Hello',
      reasoning: 'hm',
      model: 'model-1',
      state: 'streaming',
      usage: { input: 3, output: 4 },
      calls: [{ id: 'c1', name: 'bash', argsText: '{"a":1}' }],
    },
  ]);
});

test('events that come again after a resumption are applied once', () => {
  const frames = [metadata('1.1'), delta('2', 'a', 'one '), delta('3~2', 'a', 'two ')];
  const state = withFrames(withFrames(started, frames), [...frames, delta('4', 'a', 'three')]);
  expect(texts(state)).toEqual(['one two three']);
  expect(state.run?.lastEventId).toBe('4');
});

test('what a killed runner had streamed goes when another takes over, and its repetition is shown once', () => {
  const state = withFrames(started, [
    metadata('1.1'),
    delta('2', 'a', 'half of an ans'),
    metadata('9.1', { attempt: 2, dropped_message_ids: ['a'] }),
    delta('10', 'b', 'a whole answer'),
  ]);
  expect(texts(state)).toEqual(['a whole answer']);
  expect(state.run?.attempt).toBe(2);
});

test('a whole message replaces what streamed of it, and later deltas of it change nothing', () => {
  const state = withFrames(started, [
    delta('2', 'a', 'wor'),
    updates('3', { model_request: { messages: [aiMessage('a', 'world')] } }),
    delta('4', 'a', 'ld'),
  ]);
  expect(answers(state)).toMatchObject([{ text: 'world', state: 'stored' }]);
});

test('deltas of a message that the feed has are ignored when a stream is read from its start', () => {
  const read = withPage(EMPTY, {
    page: feedPage([humanMessage('h', 'hi'), aiMessage('a', 'hello')]),
    before: undefined,
    readAt: 1,
  });
  const state = withFrames(withRun(read, RUN), [metadata('1.1'), delta('2', 'a', 'hel'), delta('3', 'a', 'lo')]);
  expect(texts(state)).toEqual(['hello']);
});

test('after a gap an answer that lacks its beginning says so, until it is whole', () => {
  const state = withFrames(withRun(started, RUN, { from: '50', hasGap: true }), [delta('51', 'a', 'the end')]);
  expect(answers(state)).toMatchObject([{ text: 'the end', lacksBeginning: true }]);
  const whole = withFrames(state, [
    updates('52', { model_request: { messages: [aiMessage('a', 'start to the end')] } }),
  ]);
  expect(answers(whole)).toMatchObject([{ text: 'start to the end', lacksBeginning: false }]);
  expect(whole.run?.hasGap).toBe(false);
});

test('a message to a run under way is pending until a step shows it, then it is where it joined', () => {
  const sent = withAccepted(withSent(started, saidNow('s', 'also this', [])), 's', RUN);
  const before = withFrames(sent, [delta('2', 'a', 'first')]);
  expect(before.pending).toMatchObject([{ id: 's', state: 'waiting', runId: RUN }]);
  const after = withFrames(before, [
    updates('3', { model_request: { messages: [aiMessage('a', 'first')] } }),
    updates('4', { 'steering.before_model': { messages: [humanMessage('s', 'also this')] } }),
    delta('5', 'b', 'second'),
  ]);
  expect(after.pending).toEqual([]);
  expect(rowsOf(after).map(({ key }) => key)).toEqual(['a', 's', 'b']);
  expect(withRefused(sent, 's').pending).toEqual([]);
});

test('what a cancelled run had streamed stays visible as lost, before later messages; a rolled back run leaves nothing', () => {
  const streamed = withFrames(
    withRun(withPage(EMPTY, { page: feedPage([humanMessage('h', 'go')]), before: undefined, readAt: 1 }), RUN),
    [delta('2', 'a', 'a part')],
  );
  expect(withoutRun(streamed, { isGone: true }).stored.map(({ id }) => id)).toEqual(['h']);
  const ended = withoutRun(streamed, { isGone: false });
  expect(answers(ended)).toMatchObject([{ text: 'a part', state: 'lost' }]);
  const later = withPage(ended, {
    page: feedPage([humanMessage('h', 'go'), humanMessage('h2', 'again')]),
    before: undefined,
    readAt: 2,
  });
  expect(rowsOf(later).map(({ key }) => key)).toEqual(['h', 'a', 'h2']);
});

test('output of a command is shown until its result is there', () => {
  const piece = (id: string, stdout: string): Frame => ({
    id,
    event: 'custom',
    data: { type: 'bash_output', tool_call_id: 'c1', stdout, stderr: '', omitted_chars: 0, truncated: false },
  });
  const running = withFrames(started, [piece('2', 'line 1\n'), piece('3', 'line 2\n')]);
  expect(running.outputs.get('c1')?.text).toBe('line 1\nline 2\n');
  const long = withFrames(running, [piece('4', 'x'.repeat(100_000))]);
  expect(long.outputs.get('c1')).toMatchObject({ omittedChars: 36_014 });
  const done = withFrames(long, [
    { id: '5', event: 'messages', data: [toolMessage('c1', 'all'), {}] },
    piece('6', 'late'),
  ]);
  expect(done.outputs.size).toBe(0);
});

test('subagents show their steps once, and how they ended', () => {
  const event = (id: string, data: object): Frame => ({ id, event: 'custom', data: { task_id: 'c1', ...data } });
  const step = {
    type: 'task_running',
    message_index: 1,
    message: { type: 'ai', content: 'looking', tool_calls: [{ name: 'ls' }] },
  };
  const state = withFrames(started, [
    event('2', { type: 'task_started', description: 'Look', model_name: 'm' }),
    event('3', step),
    event('4', step),
    event('5', { type: 'task_timed_out', usage: { total_tokens: 9 } }),
  ]);
  expect(state.tasks.get('c1')).toEqual({
    description: 'Look',
    model: 'm',
    status: 'timed_out',
    tokens: 9,
    steps: [{ index: 1, text: 'looking', tools: ['ls'] }],
  });
});

test('plans, titles and questions are updated; what is no such value is ignored', () => {
  const state = withFrames(started, [
    updates('2', { 'title.after_model': { title: 'A title' } }),
    updates('3', { tools: { todos: [{ content: 'a', status: 'pending' }, { content: 'b', status: 'nonsense' }, 7] } }),
    updates('4', { __interrupt__: [{ id: 'i', value: 1 }, 'x'] }),
    updates('5', { hook: null }),
    { id: '6', event: 'messages', data: 'nonsense' },
    { id: '7', event: 'no such event', data: {} },
  ]);
  expect(state.values).toMatchObject({
    title: 'A title',
    todos: [{ content: 'a', status: 'pending' }],
    interrupts: [{ id: 'i', value: 1 }],
  });
});

test('hidden messages and those of middlewares are not shown', () => {
  const hidden = { ...humanMessage('h', 'x'), additional_kwargs: { hide_from_ui: true } };
  const named = { ...humanMessage('n', 'x'), name: 'todo_reminder' };
  expect(
    withFrames(started, [updates('2', { hook: { messages: [hidden, named, { type: 'remove', id: 'a' }] } })]).live,
  ).toEqual([]);
});

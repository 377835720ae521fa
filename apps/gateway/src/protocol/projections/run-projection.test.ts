import type { NumberedEvent, RunEvent, RunRecord } from '@caribou/contracts';
import { ai, human, sampleRun } from '@caribou/testing';
import { eventParts, type SequencedEvent } from '../projected-event.js';
import { fromSeq } from '../sequence.js';
import { RunProjection } from './run-projection.js';

const RUN = sampleRun({ status: 'running', attempt: 1 });
const start = (attempt = 1, dropped: string[] = []): RunEvent => ({
  kind: 'run.start',
  run_id: 'r1',
  thread_id: 't1',
  attempt,
  dropped_message_ids: dropped,
  checkpoint_id: null,
});
const delta = (id: string, content: string): RunEvent => ({
  kind: 'message.delta',
  node: 'model_request',
  step: 1,
  message_id: id,
  content,
});
const checkpoint = (over: object = {}): RunEvent => ({
  kind: 'checkpoint',
  checkpoint_id: 'c1',
  parent_id: null,
  metadata: { source: 'loop', step: 1 },
  next: [],
  created_at: '2026-01-01T00:00:05.000Z',
  ...over,
});
const custom = (data: unknown): RunEvent => ({ kind: 'custom', data });
const end = (status: 'success' | 'error' | 'interrupted' | 'timeout'): RunEvent => ({ kind: 'end', status });
const log = (...events: RunEvent[]): NumberedEvent[] => events.map((event, index) => ({ seq: index + 1, event }));

interface Shown {
  readonly method: string;
  readonly event_id: string;
  readonly seq: number;
  readonly params: { readonly namespace: string[]; readonly timestamp: number; readonly data: Record<string, unknown> };
}

const shown = (events: readonly SequencedEvent[]): Shown[] =>
  events.map((event) => {
    const parts = eventParts(event, '{"messages":[]}');
    return JSON.parse(typeof parts === 'string' ? parts : parts.join('')) as Shown;
  });
const project = (events: NumberedEvent[], run: RunRecord = RUN): Shown[] =>
  shown(new RunProjection(run, 3).project(events));
const of = (events: readonly Shown[], method: string): [string[], Record<string, unknown>][] =>
  events.filter((event) => event.method === method).map(({ params }) => [params.namespace, params.data]);

describe(RunProjection, () => {
  test('gives the same events under the same numbers, however the log is divided', () => {
    const events = log(
      start(),
      checkpoint(),
      delta('m', 'a'),
      delta('m', 'b'),
      custom(1),
      checkpoint(),
      end('success'),
    );
    const whole = project(events);
    const pieces = new RunProjection(RUN, 3);
    expect(events.flatMap((event) => shown(pieces.project([event])))).toEqual(whole);
    expect(whole.map(({ seq }) => fromSeq(seq).ordinal)).toEqual(whole.map(() => 3));
    const seqs = whole.map(({ seq }) => seq);
    expect(seqs).toEqual([...new Set(seqs)].sort((one, other) => one - other));
  });

  test('events have the time of the newest checkpoint, and states its id', () => {
    const events = project(log(start(), checkpoint(), delta('m', 'a')));
    const [created, committed] = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:05.000Z'].map((at) => Date.parse(at));
    expect(events.map(({ params }) => params.timestamp)).toEqual([created, ...Array(5).fill(committed)]);
    expect(events.find(({ method }) => method === 'values')?.event_id).toMatch(/^\d+:c1$/);
  });

  test.each([
    ['success', [], { event: 'completed' }],
    ['success', ['tools'], { event: 'interrupted' }],
    ['interrupted', [], { event: 'interrupted' }],
    ['error', [], { event: 'failed', error: 'nope' }],
    ['timeout', [], { event: 'failed', error: 'nope' }],
  ] as const)('a run that ends as %s before %j', (status, next, data) => {
    const failure: RunEvent[] =
      status === 'error' || status === 'timeout' ? [{ kind: 'error', name: 'E', message: 'nope' }] : [];
    const events = project(log(start(), checkpoint({ next }), ...failure, end(status)));
    expect(events.at(-1)).toMatchObject({
      method: 'lifecycle',
      params: { data: { ...data, checkpoint: { id: 'c1' } } },
    });
    expect(events.at(-1)?.event_id).toBe(`synth:r1:${events.at(-1)?.seq}`);
  });

  test('an answer that a takeover discarded ends with an error, or is not shown when that is known', () => {
    const events = log(start(), delta('old', 'x'), start(2, ['old']), delta('new', 'y'));
    const projection = new RunProjection(RUN, 1);
    const live = [...shown(projection.project(events.slice(0, 2))), ...shown(projection.project(events.slice(2)))];
    const discarded = of(live, 'messages').find(([, data]) => data['event'] === 'error');
    expect(discarded?.[1]).toMatchObject({ id: 'old', code: 'discarded' });
    expect(of(live, 'lifecycle').map(([, data]) => data['event'])).toEqual(['running', 'running']);

    const replayed = project(events);
    expect(JSON.stringify(replayed)).not.toContain('"old"');
    expect(new Set(replayed.map(({ seq }) => fromSeq(seq).event))).toEqual(new Set([1, 3, 4]));
  });

  test('tools begin, write and end; a task has the namespace of its subagent', () => {
    const tool = {
      type: 'tool',
      id: 'x',
      tool_call_id: 'c1',
      name: 'bash',
      content: 'done',
      status: 'success',
    } as const;
    const message = { ...tool, additional_kwargs: {}, response_metadata: {} };
    const events = project(
      log(
        { kind: 'tool.start', tool_call_id: 'c1', name: 'bash', args: { command: 'ls' } },
        custom({
          type: 'bash_output',
          tool_call_id: 'c1',
          stdout: 'a',
          stderr: 'b',
          omitted_chars: 0,
          truncated: false,
        }),
        { kind: 'tool.end', tool_call_id: 'c1', name: 'bash', message },
        { kind: 'tool.start', tool_call_id: 'c2', name: 'task', args: { subagent_type: 'researcher' } },
        { kind: 'tool.error', tool_call_id: 'c2', name: 'task', error: 'no' },
      ),
    );
    expect(of(events, 'tools')).toEqual([
      [[], { event: 'tool-started', tool_call_id: 'c1', tool_name: 'bash', input: { command: 'ls' } }],
      [[], { event: 'tool-output-delta', tool_call_id: 'c1', delta: 'ab' }],
      [[], { event: 'tool-finished', tool_call_id: 'c1', output: message }],
      [['tools:c2'], expect.objectContaining({ event: 'tool-started', tool_name: 'task' })],
      [['tools:c2'], { event: 'tool-error', tool_call_id: 'c2', message: 'no' }],
    ]);
    expect(of(events, 'custom')).toEqual([[[], { name: 'bash_output', payload: expect.anything() }]]);
  });

  test('a subagent has a lifecycle, messages and tools of its own', () => {
    const call = { id: 'k', name: 'ls', args: {}, type: 'tool_call' as const };
    const step = (message: unknown, index: number) => ({
      type: 'task_running',
      task_id: 'c2',
      message,
      message_index: index,
      total_messages: index,
      usage: null,
    });
    const result = { type: 'tool', id: 'x', tool_call_id: 'k', name: 'ls', content: 'f', status: 'success' };
    const events = project(
      log(
        { kind: 'tool.start', tool_call_id: 'c2', name: 'task', args: { subagent_type: 'researcher' } },
        custom({ type: 'task_started', task_id: 'c2', description: 'd' }),
        custom(step({ ...ai('Looking', 'a1'), tool_calls: [call] }, 1)),
        custom(step({ ...result, additional_kwargs: {}, response_metadata: {} }, 2)),
        custom({ type: 'task_completed', task_id: 'c2', result: 'r', usage: null }),
        custom({ type: 'task_failed', task_id: 'c3', error: 'e', usage: null }),
        custom({ type: 'task_timed_out', task_id: 'c4', usage: null }),
        custom({ type: 'task_cancelled', task_id: 'c5', error: 'x', usage: null }),
      ),
    );
    expect(of(events, 'lifecycle')).toEqual([
      [['tools:c2'], { event: 'started', graph_name: 'researcher', cause: { type: 'toolCall', tool_call_id: 'c2' } }],
      [['tools:c2'], { event: 'completed', graph_name: 'researcher' }],
      [['tools:c3'], { event: 'failed', error: 'e' }],
      [['tools:c4'], { event: 'failed', error: expect.any(String) }],
      [['tools:c5'], { event: 'interrupted', error: 'x' }],
    ]);
    expect(of(events, 'messages').map(([namespace, data]) => [namespace[0], data['event']])).toEqual(
      ['message-start', ...Array(2).fill(['start', 'finish']).flat(), 'message-finish'].map((event: string) => [
        'tools:c2',
        event.startsWith('message') ? event : `content-block-${event}`,
      ]),
    );
    expect(of(events, 'tools').map(([namespace, data]) => [namespace[0], data['event']])).toEqual(
      ['tool-started', 'tool-started', 'tool-finished'].map((event) => ['tools:c2', event]),
    );
  });

  test('nodes are tasks and updates, with the messages of people that they add', () => {
    const update = { messages: [human('note', 'h1')], title: 't' };
    const events = project(
      log(
        { kind: 'task.start', task_id: 'k', node: 'x.before_agent', step: 1, triggers: [] },
        { kind: 'task.end', task_id: 'k', node: 'x.before_agent', step: 1, update, error: null },
        { kind: 'task.end', task_id: 'l', node: 'tools', step: 1, update: null, error: 'bad' },
      ),
    );
    expect(of(events, 'tasks').map(([, data]) => data['name'])).toEqual(['x.before_agent', 'x.before_agent', 'tools']);
    expect(of(events, 'updates')).toEqual([[[], { node: 'x.before_agent', values: update }]]);
    expect(of(events, 'messages').map(([, data]) => data['event'])).toEqual([
      'message-start',
      'content-block-start',
      'content-block-finish',
      'message-finish',
    ]);
  });

  test('questions are shown once, and answered when the run that answers begins', () => {
    const question = { id: 'a'.repeat(32), value: 'May I?', resumable: true as const, when: 'during' as const };
    const kwargs = { ...RUN.kwargs, command: { answers: { ['b'.repeat(32)]: 'yes' } } };
    const asked = checkpoint({ interrupts: [question], next: ['tools'] });
    const events = project(log(start(), asked, asked, start(2), end('interrupted')), { ...RUN, kwargs });
    expect(of(events, 'input.answered')).toEqual([[[], { interrupt_ids: ['b'.repeat(32)] }]]);
    expect(of(events, 'input.requested')).toEqual([[[], { interrupt_id: question.id, payload: 'May I?' }]]);
  });

  test('a question of a subagent has the namespace of the subagent', () => {
    const question = { id: 'a'.repeat(32), value: 'May I?', resumable: true as const, when: 'during' as const };
    const asked = checkpoint({ interrupts: [{ ...question, namespace: ['task:call_1'] }], next: ['tools'] });
    const events = project(log(start(), asked, end('interrupted')));
    expect(of(events, 'input.requested')).toEqual([
      [['tools:call_1'], { interrupt_id: question.id, payload: 'May I?' }],
    ]);
  });

  test('events beyond the numbers of one share the last one, under ids of their own', () => {
    const content = Array.from({ length: 100 }, (_, index) => ({ type: 'text', text: `t${index}` }));
    const message = { ...ai('', 'm1'), content };
    const events = project(log({ kind: 'message', node: 'model_request', step: 1, message }));
    expect(events).toHaveLength(202);
    expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(202);
    const seqs = events.map(({ seq }) => seq);
    expect(seqs).toEqual([...seqs].sort((one, other) => one - other));
    expect(fromSeq(seqs.at(-1) ?? 0).index).toBe(126);
  });
});

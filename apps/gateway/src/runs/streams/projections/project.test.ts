import type { AiMessage, RunEvent, StreamMode, ToolMessage } from '@caribou/contracts';
import type { Frame, ProjectionContext } from './frame.js';
import { frameId, isAfter, parsePosition, START, WHOLE } from './position.js';
import { kindsFor, project } from './project.js';
import { reduce } from './projection-state.js';

const context = (): ProjectionContext => ({
  run: {
    runId: 'r1',
    threadId: 't1',
    graphId: 'lead_agent',
    assistantId: 'bee7d354-5df5-5f26-a978-10ea053f620d',
    input: null,
  },
  state: {
    attempt: 1,
    checkpointId: null,
    next: [],
    interrupts: [],
    timestamp: '2026-01-01T00:00:00.000Z',
    model: 'm1',
    tasks: new Map(),
    partials: new Map(),
  },
});

const ai: AiMessage = {
  type: 'ai',
  id: 'a1',
  content: 'Hello',
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: [{ name: 'bash', args: { command: 'ls' }, id: 'call_1', type: 'tool_call' }],
  invalid_tool_calls: [],
};
const tool: ToolMessage = {
  type: 'tool',
  id: 'tool:call_1',
  content: 'hi',
  name: 'bash',
  tool_call_id: 'call_1',
  status: 'success',
  additional_kwargs: {},
  response_metadata: {},
};
const model = { node: 'model_request', step: 1 };
const delta = (fields: Partial<Extract<RunEvent, { kind: 'message.delta' }>>): RunEvent => ({
  kind: 'message.delta',
  ...model,
  message_id: 'a1',
  content: '',
  ...fields,
});

/** Frames of a list of events in some modes, with the values of a checkpoint written as its id. */
function shown(events: readonly RunEvent[], modes: readonly StreamMode[]): { event: string; data: unknown }[] {
  const kinds = kindsFor(modes);
  const given = context();
  return events.flatMap((event, index) => {
    const frames = project({ seq: index + 1, event }, kinds, given).map(({ frame }) => ({
      event: frame.event,
      data: dataOf(frame),
    }));
    reduce(given.state, event, kinds);
    return frames;
  });
}

const dataOf = (frame: Frame): unknown =>
  JSON.parse(
    'data' in frame ? frame.data : `${frame.before}${JSON.stringify(`values of ${frame.checkpointId}`)}${frame.after}`,
  );

const checkpoint = (next: ('model_request' | 'tools')[]): RunEvent => ({
  kind: 'checkpoint',
  checkpoint_id: 'c1',
  parent_id: null,
  metadata: { source: 'loop', step: 1 },
  next,
  created_at: '2026-01-01T00:00:01.000Z',
});

describe('projections', () => {
  test('messages-tuple shows each delta as a chunk beside the node that wrote it', () => {
    const [frame] = shown([delta({ content: 'Hel', reasoning: 'hm' })], ['messages-tuple']);

    expect(frame?.event).toBe('messages');
    const [chunk, metadata] = frame?.data as [Record<string, unknown>, Record<string, unknown>];
    expect(chunk).toEqual({
      content: 'Hel',
      tool_call_chunks: [],
      additional_kwargs: { reasoning_content: 'hm' },
      id: 'a1',
      response_metadata: {},
      tool_calls: [],
      invalid_tool_calls: [],
      type: 'ai',
    });
    expect(metadata).toMatchObject({
      run_id: 'r1',
      thread_id: 't1',
      graph_id: 'lead_agent',
      langgraph_node: 'model_request',
      langgraph_step: 1,
      ls_model_name: 'm1',
      run_attempt: 1,
    });
    expect(String(metadata['langgraph_checkpoint_ns'])).toMatch(/^model_request:[0-9a-f-]{36}$/);
  });

  test('usage stands only in the chunk that brought it', () => {
    const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
    const chunks = shown([delta({ content: 'a' }), delta({ usage })], ['messages-tuple']).map(
      ({ data }) => (data as unknown[])[0],
    );

    expect(chunks[0]).not.toHaveProperty('usage_metadata');
    expect(chunks[1]).toMatchObject({ usage_metadata: usage });
  });

  test('tool messages come whole, and outside every subagent namespace', () => {
    const [frame] = shown([{ kind: 'message', node: 'tools', step: 2, message: tool }], ['messages-tuple']);

    expect(frame?.data).toMatchObject([tool, { langgraph_node: 'tools', langgraph_checkpoint_ns: '' }]);
  });

  test('a whole AI message adds nothing to messages-tuple: its deltas were all told', () => {
    expect(shown([{ kind: 'message', ...model, message: ai }], ['messages-tuple'])).toEqual([]);
  });

  test('updates name one node each; values and checkpoints name their checkpoint', () => {
    const events: RunEvent[] = [
      { kind: 'task.end', task_id: 'x', ...model, update: { messages: [ai] }, error: null },
      checkpoint(['tools']),
    ];

    expect(shown(events, ['updates', 'values', 'checkpoints'])).toEqual([
      { event: 'updates', data: { model_request: { messages: [ai] } } },
      {
        event: 'checkpoints',
        data: { values: 'values of c1', metadata: { parents: {}, source: 'loop', step: 1 }, next: ['tools'] },
      },
      { event: 'values', data: 'values of c1' },
    ]);
  });

  test('mode messages sums deltas up, with metadata once, and completes the message', () => {
    const chunk = (args: string, first: boolean) => ({
      name: first ? 'bash' : null,
      args,
      id: first ? 'call_1' : null,
      index: 0,
      type: 'tool_call_chunk' as const,
    });
    const events = [
      delta({ content: 'Hel' }),
      delta({ content: 'lo' }),
      delta({ tool_call_chunks: [chunk('{"command":', true)] }),
      delta({ tool_call_chunks: [chunk('"ls"}', false)] }),
      { kind: 'message', ...model, message: ai } as const,
    ];
    const frames = shown(events, ['messages']);

    expect(frames.map(({ event }) => event)).toEqual([
      'messages/metadata',
      'messages/partial',
      'messages/partial',
      'messages/partial',
      'messages/partial',
      'messages/complete',
    ]);
    expect(frames[2]?.data).toMatchObject([{ content: 'Hello', id: 'a1' }]);
    expect(frames[4]?.data).toMatchObject([{ tool_calls: [{ name: 'bash', args: { command: 'ls' }, id: 'call_1' }] }]);
    expect(frames[5]?.data).toEqual([ai]);
  });

  test('tasks and debug show a node with the values it was given, under the id its checkpoint announced', () => {
    const events: RunEvent[] = [
      checkpoint(['model_request']),
      { kind: 'task.start', task_id: 'x', ...model, triggers: ['branch:to:model_request'] },
      { kind: 'task.end', task_id: 'x', ...model, update: null, error: null },
    ];
    const frames = shown(events, ['tasks', 'debug']);

    const [announced] = (frames[0]?.data as { payload: { tasks: { id: string }[] } }).payload.tasks;
    const id = announced?.id;
    expect(announced).toEqual({ id, name: 'model_request', path: ['__pregel_pull', 'model_request'], interrupts: [] });
    expect(frames[1]).toMatchObject({
      event: 'debug',
      data: { step: 1, type: 'task', payload: { id, name: 'model_request', input: 'values of c1' } },
    });
    expect(frames[2]).toMatchObject({
      event: 'tasks',
      data: { id, name: 'model_request', input: 'values of c1', interrupts: [] },
    });
    expect(frames[3]).toMatchObject({
      event: 'debug',
      data: { type: 'task_result', timestamp: '2026-01-01T00:00:01.000Z', payload: { id } },
    });
    expect(frames[4]).toEqual({
      event: 'tasks',
      data: { id, name: 'model_request', result: null, error: null, interrupts: [] },
    });
  });

  test('the end of the run is an event only when it succeeded: nothing but `end` follows an error', () => {
    const failed = shown(
      [checkpoint([]), { kind: 'error', name: 'E', message: 'm' }, { kind: 'end', status: 'error' }],
      ['events'],
    );

    expect(failed.map(({ event }) => event)).toEqual(['error', 'end']);
    expect(shown([checkpoint([]), { kind: 'end', status: 'success' }], ['events'])[0]).toMatchObject({
      event: 'events',
      data: { event: 'on_chain_end', name: 'LangGraph', data: { output: 'values of c1' } },
    });
  });

  test('the name of the model stands beside what the model wrote, not beside nodes and tool messages', () => {
    const toolFrame = shown([{ kind: 'message', node: 'tools', step: 2, message: tool }], ['messages-tuple'])[0];
    const node = shown([{ kind: 'task.start', task_id: 'x', ...model, triggers: [] }], ['events'])[0];

    expect(JSON.stringify([toolFrame, node])).not.toContain('ls_model');
    expect(JSON.stringify(shown([delta({ content: 'x' })], ['events']))).toContain('"ls_model_name":"m1"');
  });

  test('a run that stops at a breakpoint says so in updates and values', () => {
    const events: RunEvent[] = [checkpoint(['tools']), { kind: 'end', status: 'success' }];

    expect(shown(events, ['values', 'updates'])).toEqual([
      { event: 'values', data: 'values of c1' },
      { event: 'updates', data: { __interrupt__: [] } },
      { event: 'values', data: { __interrupt__: [] } },
      { event: 'end', data: null },
    ]);
  });

  test('no mode shows what was not asked for, and metadata, error and end always come', () => {
    const events: RunEvent[] = [
      { kind: 'run.start', run_id: 'r1', thread_id: 't1', attempt: 1, dropped_message_ids: [], checkpoint_id: null },
      delta({ content: 'x' }),
      { kind: 'tool.start', tool_call_id: 'call_1', name: 'bash', args: {} },
      { kind: 'custom', data: 1 },
      { kind: 'error', name: 'ModelError', message: 'nope' },
      { kind: 'end', status: 'error' },
    ];

    expect(shown(events, ['updates']).map(({ event }) => event)).toEqual(['metadata', 'error', 'end']);
    expect(shown(events, ['tools', 'custom']).map(({ event }) => event)).toEqual([
      'metadata',
      'tools',
      'custom',
      'error',
      'end',
    ]);
  });
});

describe('positions', () => {
  test('an id written is the position read', () => {
    for (const position of [
      { seq: 3, index: WHOLE },
      { seq: 3, index: 2 },
      { seq: 3, index: 2, logged: 1 },
      { seq: 999_999_999_999_999, index: WHOLE, logged: 999_999_999_999_998 },
    ])
      expect(parsePosition(frameId(position))).toEqual(position);
    expect(frameId({ seq: 3, index: WHOLE, logged: 5 })).toBe('3');
  });

  test('no id, -1 and ids that are none of ours mean the start', () => {
    for (const id of [undefined, '-1', '', 'abc', '1.2.3', '9'.repeat(40), '1766400000000-0', '1~'])
      expect(parsePosition(id)).toBe(START);
  });

  test('places order within an event, and a whole event comes after all its places', () => {
    expect(isAfter({ seq: 2, index: 2 }, { seq: 2, index: 1 })).toBe(true);
    expect(isAfter({ seq: 2, index: 9 }, { seq: 2, index: WHOLE })).toBe(false);
    expect(isAfter({ seq: 3, index: 1 }, { seq: 2, index: WHOLE })).toBe(true);
  });
});

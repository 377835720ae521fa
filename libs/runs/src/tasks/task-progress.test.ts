import type { AiMessage, RunEvent, ToolMessage } from '@caribou/contracts';
import { ai, human } from '@caribou/testing';
import { TaskProgress } from './task-progress.js';

const spent = (input: number, output: number): Partial<AiMessage> => ({
  usage_metadata: { input_tokens: input, output_tokens: output, total_tokens: input + output },
});
const answer = (id: string, over: Partial<AiMessage> = {}): AiMessage => ({ ...ai(`says ${id}`, id), ...over });
const message = (said: AiMessage): RunEvent => ({ kind: 'message', node: 'model_request', step: 1, message: said });
const hook = (...messages: (AiMessage | ToolMessage)[]): RunEvent => ({
  kind: 'task.end',
  task_id: 't',
  node: 'x.after_model',
  step: 1,
  update: { messages },
  error: null,
});
const committed: RunEvent = {
  kind: 'checkpoint',
  checkpoint_id: 'c',
  parent_id: null,
  next: [],
  created_at: '',
  metadata: { source: 'loop', step: 1, parents: {} },
};

/** The ids, numbers and usages of the steps in a sequence of events. */
function stepsOf(...events: readonly RunEvent[]) {
  const progress = new TaskProgress();
  return events.flatMap((event) => progress.collectSteps(event));
}

describe(TaskProgress, () => {
  test('an answer counts once it is committed, in the order of answers, from 1', () => {
    const progress = new TaskProgress();

    expect(progress.collectSteps(message(answer('a')))).toEqual([]);
    expect(progress.collectSteps(committed)).toEqual([{ message: answer('a'), index: 1, usage: null }]);
    expect(progress.collectSteps(committed)).toEqual([]);
    progress.collectSteps(message(answer('b')));
    expect(progress.collectSteps(committed)).toMatchObject([{ message: { id: 'b' }, index: 2 }]);
  });

  test('a hook’s replacement of an answer in the same step counts', () => {
    const cut = answer('a', { content: 'cut' });

    expect(stepsOf(message(answer('a')), hook(cut), committed)).toEqual([{ message: cut, index: 1, usage: null }]);
  });

  test('an answer that a later step changes is not reported again', () => {
    const late = answer('a', { content: 'later' });

    expect(stepsOf(message(answer('a')), committed, hook(late), committed)).toHaveLength(1);
    expect(stepsOf(message(answer('a')), committed, message(late), committed)).toHaveLength(1);
  });

  test('a message both in an update and on its own is one answer', () => {
    expect(stepsOf(message(answer('a')), hook(answer('a')), committed)).toHaveLength(1);
  });

  test('results of tools are steps too, counted with the answers and without usage of their own', () => {
    const result = (id: string): ToolMessage => ({
      type: 'tool',
      id,
      tool_call_id: `call-${id}`,
      name: 'bash',
      content: 'out',
      status: 'success',
      additional_kwargs: {},
      response_metadata: {},
    });
    const steps = stepsOf(
      ...[message(answer('a', spent(10, 1))), committed],
      ...[hook(result('x'), result('y')), committed],
      ...[message(answer('b', spent(10, 1))), committed],
    );

    expect(steps.map(({ message: { id }, index, usage }) => [id, index, usage?.total_tokens])).toEqual([
      ['a', 1, 11],
      ['x', 2, 11],
      ['y', 3, 11],
      ['b', 4, 22],
    ]);
  });

  test('user messages, removals and other events are not steps', () => {
    const events: RunEvent[] = [
      { kind: 'message.delta', node: 'model_request', step: 1, message_id: 'a', content: 'x' },
      {
        kind: 'task.end',
        task_id: 't',
        node: 'tools',
        step: 1,
        error: null,
        update: { messages: [human('hi'), { type: 'remove', id: 'a' }] },
      },
      { kind: 'task.end', task_id: 't', node: 'tools', step: 1, update: null, error: null },
      { kind: 'custom', data: { type: 'bash_output' } },
      committed,
      { kind: 'end', status: 'success' },
    ];

    expect(stepsOf(...events)).toEqual([]);
  });

  test('usage adds up over the answers whose provider reported it, and is null before the first of them', () => {
    const steps = stepsOf(
      ...[message(answer('a')), committed],
      ...[message(answer('b', spent(10, 1))), committed],
      ...[message(answer('c')), committed],
      ...[message(answer('d', spent(20, 2))), committed],
    );

    expect(steps.map(({ usage }) => usage)).toEqual([
      null,
      { input_tokens: 10, output_tokens: 1, total_tokens: 11 },
      { input_tokens: 10, output_tokens: 1, total_tokens: 11 },
      { input_tokens: 30, output_tokens: 3, total_tokens: 33 },
    ]);
  });
});

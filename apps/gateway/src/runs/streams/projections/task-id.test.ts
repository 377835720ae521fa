import type { RunEvent } from '@caribou/contracts';
import type { FrameKind } from './frame.js';
import { initialState, reduce } from './projection-state.js';
import { deriveTaskId, findTaskId, deriveStartedTaskId } from './task-id.js';

const checkpoint: RunEvent = {
  kind: 'checkpoint',
  checkpoint_id: 'c1',
  parent_id: null,
  metadata: { source: 'loop', step: 1 },
  next: ['tools'],
  created_at: '2026-01-01T00:00:01.000Z',
};
const place = { node: 'tools', step: 2 };
const start = (task_id: string): RunEvent => ({ kind: 'task.start', task_id, ...place, triggers: [] });
const end = (task_id: string): RunEvent => ({ kind: 'task.end', task_id, ...place, update: null, error: null });
const again = (attempt: number): RunEvent => ({
  kind: 'run.start',
  run_id: 'r1',
  thread_id: 't1',
  attempt,
  dropped_message_ids: ['a1'],
  checkpoint_id: null,
});

/** The ids clients are told at the start and end of tasks, in order. */
function toldIds(events: readonly RunEvent[]): string[] {
  const state = initialState({
    attempt: 1,
    created_at: '2026-01-01T00:00:00.000Z',
    kwargs: {
      input: null,
      context: {},
      recursion_limit: 1,
      stream_mode: [],
      stream_subgraphs: false,
      on_disconnect: 'continue',
      temporary: false,
    },
  });
  return events.flatMap((event) => {
    const id =
      event.kind === 'task.start'
        ? deriveStartedTaskId(event, state)
        : event.kind === 'task.end'
          ? findTaskId(event, state)
          : [];
    reduce(state, event, new Set<FrameKind>(['tasks']));
    return id;
  });
}

describe('ids of tasks', () => {
  test('the first task of a node has the id its checkpoint announced', () => {
    const announced = deriveTaskId('c1', 'tools');

    expect(toldIds([checkpoint, start('x'), end('x')])).toEqual([announced, announced]);
  });

  test('parallel tasks have ids of their own, the same at start and end', () => {
    const [x, y, ...ends] = toldIds([checkpoint, start('x'), start('y'), end('y'), end('x')]);

    expect(x).not.toBe(y);
    expect(ends).toEqual([y, x]);
  });

  test('a retried model call does not end the task it belongs to', () => {
    const [started, ended] = toldIds([checkpoint, start('x'), again(1), end('x')]);

    expect(ended).toBe(started);
  });

  test('a runner that takes over tells the same ids for the same work', () => {
    const [lost, taken, ended] = toldIds([checkpoint, start('x'), again(2), start('z'), end('z')]);

    expect([taken, ended]).toEqual([lost, lost]);
  });

  test('a task before any checkpoint keeps the id it has', () => {
    expect(toldIds([start('x'), end('x')])).toEqual(['x', 'x']);
  });
});
